"""What do the bytes of a Zstandard frame hold? Inspect zips its .eval logs in such frames (a zip's method 93).

    $ python3 -c "from importers import unzstd; f = open('tests/data/convert/frames.zst', 'rb'); \
          print(unzstd.decompress(f.read(), 10**6)[-9:])"
    b'789abcdef'

Python's zipfile reads that method only from 3.14 on: hence this decoder, after RFC 8878, whose terms it uses.
About 4 MB/s. Dictionaries and skippable frames are refused, for a zip has none; checksums of frames are passed over,
for a zip has its own, which finds damage that makes no impossible frame: what is checked here bounds memory and time.
Reads and writes no file.
"""

from collections.abc import Sequence, Sized
from itertools import accumulate, product
from typing import Any

States = list[tuple[int, int, int]]  # by state: symbol, bits to read, what they are added to
Codes = dict[str, tuple[int, int]]  # by the bits ahead, as many as the longest code has: symbol, bits of its code

# The extra bits of each code of a length, and where it begins: where the range of the code before it ends.
LENGTH_BITS = [0] * 16 + [1] * 4 + [2, 2, 3, 3, 4, *range(6, 17)]
MATCH_BITS = [0] * 32 + [1] * 4 + [2, 2, 3, 3, 4, 4, 5, *range(7, 17)]
LENGTHS = [*accumulate((1 << bits for bits in LENGTH_BITS), initial=0)]
MATCHES = [*accumulate((1 << bits for bits in MATCH_BITS), initial=3)]
LONGEST_BLOCK = 1 << 17  # bytes


def decompress(data: bytes, size: int) -> bytes:
    """Return what the frames hold, at most size bytes; raise ValueError or LookupError for what cannot be a frame."""
    out, source = bytearray(), Source(data)
    while source.at < len(data) * 8:
        magic, head = source.read(32), source.read(8)
        if magic != 0xFD2FB528 or head & 11:
            raise ValueError("no Zstandard frame, or one with a dictionary")
        single = head >> 5 & 1  # segment: then there is no size of a window, and always one of the content
        source.take(1 - single + (single, 2, 4, 8)[head >> 6])  # neither is needed
        last = 0
        state: dict[str, Any] = {"offsets": [1, 4, 8]}  # what a block hands on to the next
        while not last:
            last, kind, length = source.read(1), source.read(2), source.read(21)
            if kind == 2:
                read_block(Source(source.take(length)), out, state)
            else:
                out += source.take(1) * length if kind else source.take(length)
            if len(out) > size:
                raise ValueError("more than it should hold")
        source.take(head & 4)  # the checksum
    return bytes(out)


class Source:
    """Bytes from which whole ones are taken, or numbers of some bits, of which the lowest bit of a byte comes first."""

    def __init__(self, data: bytes):
        self.data, self.at = data, 0  # at: bits

    def read(self, count: int) -> int:
        """Return the number of the next bits, at most 32; beyond the last they are zeros."""
        first, shift = self.at >> 3, self.at & 7
        self.at += count
        return int.from_bytes(self.data[first:first + 5], "little") >> shift & (1 << count) - 1

    def take(self, count: int) -> bytes:
        """Return the next whole bytes; raise ValueError where there are fewer."""
        first = (self.at + 7) // 8
        self.at = (first + count) * 8
        if self.at > len(self.data) * 8:
            raise ValueError("cut off")
        return self.data[first:first + count]

    def rest(self) -> bytes:
        return self.data[(self.at + 7) // 8:]


class Bits:
    """The bits of a number as text, from the highest on, below the 1 that it begins with; 64 zeros follow the last."""

    def __init__(self, data: bytes):
        self.text, self.at = f"{int.from_bytes(data, 'little'):b}"[1:] + 64 * "0", 0

    def read(self, count: int) -> int:
        """Return the number of the next bits."""
        self.at += count
        return int(self.text[self.at - count:self.at] or "0", 2)


def fse_table(shares: Sequence[int]) -> States:
    """Return the states of a distribution. A share of -1 is less than one, and has a state at the end."""
    size = sum(map(abs, shares))
    common = [symbol for symbol, share in enumerate(shares) for _ in range(share)]
    symbols = common + [symbol for symbol, share in enumerate(shares) if share == -1][::-1]
    step = (size >> 1) + (size >> 3) + 3
    places = [i * step % size for i in range(size)]
    for place, symbol in zip([place for place in places if place < len(common)], common, strict=True):
        symbols[place] = symbol
    states, count = [], [abs(share) for share in shares]
    for symbol in symbols:
        bits = size.bit_length() - count[symbol].bit_length()
        states.append((symbol, bits, (count[symbol] << bits) - size))
        count[symbol] += 1
    return states


TABLES = {  # the predefined ones of literal lengths, offsets and match lengths
    "length": fse_table([4, 3] + [2] * 11 + [1] * 3 + [2] * 9 + [3, 2] + [1] * 5 + [-1] * 4),
    "offset": fse_table([1] * 6 + [2] * 3 + [1] * 15 + [-1] * 5),
    "match": fse_table([1, 4, 3] + [2] * 6 + [1] * 37 + [-1] * 7)}


def accuracy(table: Sized) -> int:
    """Return how many bits choose an entry of a table."""
    return len(table).bit_length() - 1


def read_fse(source: Source) -> States:
    left, shares = 32 << source.read(4), list[int]()
    if left > 512:  # before a table of that size is built
        raise ValueError("a table of shares that is too wide")
    while left > 0:
        bits = (left + 1).bit_length() - 1
        value, spare = source.read(bits), (2 << bits) - 2 - left
        if value >= spare and source.read(1):  # the small values take one bit less
            value += (1 << bits) - spare
        shares.append(value - 1)
        left -= abs(value - 1)
        zeros = 3 if value == 1 else 0
        while zeros == 3:  # a share of none is followed by how many more there are
            zeros = source.read(2)
            shares += [0] * zeros
    source.take(0)  # up to a whole byte
    return fse_table(shares)


def read_huffman(source: Source) -> Codes:
    size = source.read(8)
    if size > 127:  # half a byte each, the high one first
        weights = [int(half, 16) for half in source.take((size - 126) // 2).hex()][:size - 127]
    else:
        packed, weights = Source(source.take(size)), []
        states, bits = read_fse(packed), Bits(packed.rest())
        state, other = bits.read(accuracy(states)), bits.read(accuracy(states))
        while bits.at <= len(bits.text) - 64 and len(weights) < 255:  # two states alternate
            symbol, more, base = states[state]
            weights.append(symbol)
            state, other = other, base + bits.read(more)
        weights.append(states[state][0])
    total = sum(1 << weight >> 1 for weight in weights)
    width = total.bit_length()
    if width > 11:  # before a table of that size is built
        raise ValueError("a Huffman table that is too wide")
    weights.append(((1 << width) - total).bit_length())  # the last weight is what fills the table
    codes = []
    for symbol in sorted(range(len(weights)), key=weights.__getitem__):
        codes += [(symbol, width + 1 - weights[symbol])] * (1 << weights[symbol] >> 1)
    return dict(zip(map("".join, product("01", repeat=width)), codes, strict=True))


def huffman_symbols(data: bytes, codes: Codes, count: int) -> bytes:
    text, at, out = Bits(data).text, 0, bytearray()
    width = accuracy(codes)
    for _ in range(count):
        symbol, used = codes[text[at:at + width]]
        at += used
        out.append(symbol)
    return bytes(out)


def read_literals(source: Source, state: dict[str, Any]) -> bytes:
    kind, form = source.read(2), source.read(2)
    if kind < 2:
        source.at -= 1 - form % 2  # where the second bit of the form is the first of the size
        size = source.read((5, 12, 5, 20)[form])
        return source.take(1) * size if kind else source.take(size)
    width = (10, 10, 14, 18)[form]
    size, length = source.read(width), source.read(width)
    packed = Source(source.take(length))
    if kind == 2:  # else the codes of the block before
        state["codes"] = read_huffman(packed)
    ends = [packed.read(16) for _ in range(3 if form else 0)]
    parts = b"".join(huffman_symbols(packed.take(end), state["codes"], (size + 3) // 4) for end in ends)
    return parts + huffman_symbols(packed.rest(), state["codes"], size - len(parts))


def read_block(source: Source, out: bytearray, state: dict[str, Any]) -> None:
    """Append a compressed block to out."""
    literals, count = read_literals(source, state), source.read(8)
    if count > 127:
        count = source.read(16) + 0x7F00 if count == 255 else (count - 128 << 8) + source.read(8)
    if not count:
        out += literals
        return
    modes = source.read(8)
    for name, shift in (("length", 6), ("offset", 4), ("match", 2)):
        mode = modes >> shift & 3
        if mode == 0:
            state[name] = TABLES[name]
        elif mode == 1:
            state[name] = [(source.read(8), 0, 0)]
        elif mode == 2:  # else the table of the block before
            state[name] = read_fse(source)
    out += literals[copy_sequences(Bits(source.rest()), count, literals, out, state):]


def copy_sequences(bits: Bits, count: int, literals: bytes, out: bytearray, state: dict[str, Any]) -> int:
    """Append to out what the sequences of a block say; return how many literals they used."""
    lengths, offsets, matches = (state[name] for name in TABLES)
    l_state, o_state, m_state = (bits.read(accuracy(table)) for table in (lengths, offsets, matches))
    used, limit, last = 0, len(out) + LONGEST_BLOCK, state["offsets"]
    for _ in range(count):
        (l_code, l_bits, l_base), (m_code, m_bits, m_base) = lengths[l_state], matches[m_state]
        o_code, o_bits, o_base = offsets[o_state]
        match_bits, length_bits = MATCH_BITS[m_code], LENGTH_BITS[l_code]
        # At once, for that is faster than one by one. States of the last sequence come from the zeros.
        rest = bits.read(o_code + match_bits + length_bits + l_bits + m_bits + o_bits)
        rest, o_state = rest >> o_bits, o_base + (rest & (1 << o_bits) - 1)
        rest, m_state = rest >> m_bits, m_base + (rest & (1 << m_bits) - 1)
        rest, l_state = rest >> l_bits, l_base + (rest & (1 << l_bits) - 1)
        rest, length = rest >> length_bits, LENGTHS[l_code] + (rest & (1 << length_bits) - 1)
        offset, match = (1 << o_code) + (rest >> match_bits), MATCHES[m_code] + (rest & (1 << match_bits) - 1)
        if offset > 3:
            back = offset - 3
        else:  # one of the last three; after no literals the first is meant by none
            again = offset - 1 + (length == 0)
            back = last.pop(again) if again < 3 else last[0] - 1
        last[:] = [back, *last[:2]]
        out += literals[used:used + length]
        used += length
        start = len(out) - back
        if back < 1 or start < 0 or len(out) + match > limit:
            raise ValueError("a sequence beyond its block or what came before it")
        out += out[start:start + match] if back >= match else (out[start:] * (match // back + 1))[:match]
    return used
