"""What do the bytes of a Zstandard frame hold? Inspect zips its .eval logs in such frames (a zip's method 93).

    $ python3 -c "from importers import unzstd; f = open('tests/data/convert/frames.zst', 'rb'); \
          print(unzstd.decompress(f.read(), 10**6)[-9:])"
    b'789abcdef'

Python's zipfile reads that method only from 3.14 on: hence this decoder, after RFC 8878, whose terms it uses.
About 5 MB/s. Dictionaries and skippable frames are refused, for a zip has none; checksums of frames are passed over,
for a zip has its own. Reads and writes no file.
"""

import functools
from collections.abc import Sequence
from io import BytesIO
from itertools import accumulate
from typing import Any

States = tuple[int, list[tuple[int, int, int]]]  # accuracy; by state: symbol, bits to read, what they are added to
Codes = tuple[int, list[tuple[int, int]]]  # width; by the value of that many bits: symbol, how many of them it takes

# For literal lengths, offsets and match lengths: the largest accuracy allowed, the predefined accuracy and shares.
FSE: dict[str, tuple[int, int, list[int]]] = {
    "length": (9, 6, [4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4),
    "offset": (8, 5, [1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5),
    "match": (9, 6, [1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7)}

# The extra bits of each code of a length, and where it begins: where the range of the code before it ends.
LENGTH_BITS = [0] * 16 + [1] * 4 + [2, 2, 3, 3, 4, *range(6, 17)]
MATCH_BITS = [0] * 32 + [1] * 4 + [2, 2, 3, 3, 4, 4, 5, *range(7, 17)]
LONGEST_BLOCK = 1 << 17  # bytes, packed or not
WINDOW = 2048  # bits that are held as one number: shifts of a longer one would take longer
LENGTHS = [*accumulate((1 << bits for bits in LENGTH_BITS), initial=0)]
MATCHES = [*accumulate((1 << bits for bits in MATCH_BITS), initial=3)]


def decompress(data: bytes, size: int) -> bytes:
    """Return what the frames hold, at most size bytes; raise ValueError or LookupError where they are damaged."""
    out, source = bytearray(), BytesIO(data)
    while source.tell() < len(data):
        magic, head = number(source, 4), number(source, 1)
        if magic != 0xFD2FB528 or head & 11:
            raise ValueError("no Zstandard frame, or one with a dictionary")
        take(source, (1, 2, 4, 8)[head >> 6] + (head > 63 and not head & 32))  # sizes of content and window: not needed
        last = 0
        state: dict[str, Any] = {"offsets": [1, 4, 8], "frame": len(out)}  # what a block hands on to the next
        while not last:
            block = number(source, 3)
            last, kind, length = block & 1, block >> 1 & 3, block >> 3
            if length > LONGEST_BLOCK:
                raise ValueError("a block that is too long")
            if kind == 2:
                read_block(BytesIO(take(source, length)), out, state)
            else:
                out += take(source, 1) * length if kind else take(source, length)
            if kind == 3 or len(out) > size:
                raise ValueError("a block of an unknown kind, or too long")
        take(source, head & 4)  # the checksum
    return bytes(out)


def take(source: BytesIO, count: int) -> bytes:
    data = source.read(count)
    if len(data) != count:
        raise ValueError("cut off")
    return data


def number(source: BytesIO, count: int) -> int:
    return int.from_bytes(take(source, count), "little")


class Bits:
    """A stream of bits that is read from its end. Below its last bit are 64 zeros, which may be read as well."""

    def __init__(self, data: bytes):
        self.stream = bytes(8) + data
        self.left = len(data) * 8 + 55 + data[-1].bit_length()  # below the 1 that ends the stream
        self.value = int.from_bytes(self.stream, "little")

    def read(self, count: int) -> int:
        """Return the next bits as a number; raise ValueError beyond the zeros."""
        self.left -= count
        return self.value >> self.left & (1 << count) - 1


@functools.lru_cache(maxsize=64)
def spread(accuracy: int, rare: int) -> list[int]:
    """Return the order in which the shares of a table take its places, the last of which are for rare symbols."""
    size = 1 << accuracy
    step = (size >> 1) + (size >> 3) + 3
    return [i * step % size for i in range(size) if i * step % size < size - rare]


def fse_table(accuracy: int, shares: Sequence[int]) -> States:
    """Return the states of a distribution. A share of -1 is less than one, and has a state at the end."""
    rare = [symbol for symbol, share in enumerate(shares) if share == -1]
    common = [symbol for symbol, share in enumerate(shares) for _ in range(share)]
    symbols = [0] * len(common) + rare[::-1]
    for place, symbol in zip(spread(accuracy, len(rare)), common, strict=True):
        symbols[place] = symbol
    size, count, states = 1 << accuracy, [abs(share) for share in shares], []
    for symbol in symbols:
        bits = accuracy + 1 - count[symbol].bit_length()
        states.append((symbol, bits, (count[symbol] << bits) - size))
        count[symbol] += 1
    return accuracy, states


def read_fse(source: BytesIO, largest: int) -> States:
    start = source.tell()
    stream, at, shares = int.from_bytes(source.read(512), "little"), 4, []
    accuracy = (stream & 15) + 5
    left = 1 << accuracy
    while left > 0 and accuracy <= largest:
        bits = (left + 1).bit_length()
        value, half, spare = stream >> at & (1 << bits) - 1, (1 << bits - 1) - 1, (1 << bits) - 2 - left
        if value & half < spare:  # the small values take one bit less
            value, bits = value & half, bits - 1
        elif value > half:
            value -= spare
        shares.append(value - 1)
        at, left, zeros = at + bits, left - abs(value - 1), 3 if value == 1 else 0
        while zeros == 3:  # a share of none is followed by how many more there are
            zeros = stream >> at & 3
            at, shares = at + 2, shares + [0] * zeros
    if left:
        raise ValueError("a table of shares that do not fit")
    source.seek(start + (at + 7) // 8)
    return fse_table(accuracy, shares)


def read_huffman(source: BytesIO) -> Codes:
    size = number(source, 1)
    if size > 127:
        weights = [half for byte in take(source, (size - 126) // 2) for half in (byte >> 4, byte & 15)][:size - 127]
    else:
        packed = BytesIO(take(source, size))
        accuracy, states = read_fse(packed, 6)
        bits, weights = Bits(packed.read()), []
        now, other = bits.read(accuracy), bits.read(accuracy)
        while bits.left >= 64 and len(weights) < 255:  # two states alternate
            symbol, more, base = states[now]
            weights.append(symbol)
            now, other = other, base + bits.read(more)
        weights.append(states[now][0])
    total = sum(1 << weight >> 1 for weight in weights)
    width = total.bit_length()
    if not 0 < width <= 11:  # before a table of that size is built
        raise ValueError("a Huffman table that is too wide")
    weights.append(((1 << width) - total).bit_length())  # the last weight is what fills the table
    codes = []
    for symbol in sorted(range(len(weights)), key=weights.__getitem__):
        codes += [(symbol, width + 1 - weights[symbol])] * (1 << weights[symbol] >> 1)
    if len(codes) != 1 << width:
        raise ValueError("a Huffman table that does not fit")
    return width, codes


def huffman_symbols(data: bytes, huffman: Codes, count: int) -> bytes:
    bits, out, (width, codes) = Bits(data), bytearray(), huffman
    left, mask = bits.left, (1 << width) - 1
    while len(out) < count:
        begin = max(0, left - WINDOW) >> 3
        window, left = int.from_bytes(bits.stream[begin:(left + 7) >> 3], "little"), left - 8 * begin
        for _ in range(min(count - len(out), left // width or count)):
            symbol, used = codes[window >> left - width & mask]  # a ValueError beyond the last bit
            left -= used
            out.append(symbol)
        left += 8 * begin
    if left != 64:
        raise ValueError("a Huffman stream of another length")
    return bytes(out)


def read_literals(source: BytesIO, state: dict[str, Any]) -> bytes:
    head = number(source, 1)
    kind, form = head & 3, head >> 2 & 3
    if kind < 2:
        size = (head | number(source, (0, 1, 0, 2)[form]) << 8) >> (3, 4)[form & 1]
        return take(source, 1) * size if kind else take(source, size)
    more, width = ((2, 10), (2, 10), (3, 14), (4, 18))[form]
    sizes = (head | number(source, more) << 8) >> 4
    size, packed = sizes & (1 << width) - 1, BytesIO(take(source, sizes >> width))
    if kind == 2:  # else the codes of the block before
        state["codes"] = read_huffman(packed)
    ends = [number(packed, 2) for _ in range(3 if form else 0)]
    parts = b"".join(huffman_symbols(take(packed, end), state["codes"], (size + 3) // 4) for end in ends)
    return parts + huffman_symbols(packed.read(), state["codes"], size - len(parts))


@functools.cache
def predefined(name: str) -> States:
    return fse_table(*FSE[name][1:])


def read_block(source: BytesIO, out: bytearray, state: dict[str, Any]) -> None:
    """Append a compressed block to out."""
    literals, count = read_literals(source, state), number(source, 1)
    if count > 127:
        count = number(source, 2) + 0x7F00 if count == 255 else (count - 128 << 8) + number(source, 1)
    if not count:
        out += literals
        return
    modes = number(source, 1)
    for name, shift in (("length", 6), ("offset", 4), ("match", 2)):
        mode, largest = modes >> shift & 3, FSE[name][0]
        if mode < 3:  # else the table of the block before
            state[name] = (predefined(name) if mode == 0 else
                           (0, [(number(source, 1), 0, 0)]) if mode == 1 else read_fse(source, largest))
    out += literals[copy_sequences(source.read(), count, literals, out, state):]


def copy_sequences(data: bytes, count: int, literals: bytes, out: bytearray, state: dict[str, Any]) -> int:
    """Append to out what the sequences of a block say; return how many literals they used."""
    bits = Bits(data)
    (l_accuracy, lengths), (o_accuracy, offsets), (m_accuracy, matches) = (state[name] for name in FSE)
    l_state, o_state, m_state = bits.read(l_accuracy), bits.read(o_accuracy), bits.read(m_accuracy)
    used, limit, last, frame = 0, len(out) + LONGEST_BLOCK, state["offsets"], state["frame"]
    for more in range(count - 1, -1, -1):
        (l_code, l_bits, l_base), (m_code, m_bits, m_base) = lengths[l_state], matches[m_state]
        o_code, o_bits, o_base = offsets[o_state]
        offset = (1 << o_code) + bits.read(o_code)
        match = MATCHES[m_code] + bits.read(MATCH_BITS[m_code])
        length = LENGTHS[l_code] + bits.read(LENGTH_BITS[l_code])
        if more:
            l_state = l_base + bits.read(l_bits)
            m_state = m_base + bits.read(m_bits)
            o_state = o_base + bits.read(o_bits)
        again = offset - 1 + (not length)  # which of the last three; after no literals the first is meant by none
        last.insert(0, offset - 3 if offset > 3 else last[0] - 1 if again > 2 else last.pop(again))
        back = last[0]
        del last[3:]
        out += literals[used:used + length]
        used += length
        start = len(out) - back
        if start < frame or back < 1 or used > len(literals) or len(out) + match > limit:
            raise ValueError("a sequence beyond its block or frame")
        out += out[start:start + match] if back >= match else (out[start:] * (match // back + 1))[:match]
    if bits.left != 64:
        raise ValueError("sequences of another length")
    return used
