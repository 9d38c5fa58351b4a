/* Filters and sorts the cases of a page, and opens the case that the address names; they are there without it. */
"use strict";
(() => {
  const box = document.getElementById("all-cases");
  const rows = box ? [...box.querySelectorAll(".cases > tbody > tr[data-f]")] : [];
  const cases = rows.map((row, place) => ({
    row, place,
    name: row.querySelector("th bdi").textContent,
    flags: row.dataset.f.split(" "),
    difference: Number(row.dataset.d),
    source: row.dataset.s || "",
    slices: (row.dataset.t || "").split("\n").filter(Boolean),
    text: null, // read when somebody searches: it is long
  }));

  function element(name, properties, ...inside) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...inside);
    return made;
  }

  /* A choice with a label; each option is [value, words]. */
  function choice(label, options, changed) {
    const select = element("select", { onchange: changed },
      ...options.map(([value, words]) => element("option", { value }, words)));
    return { select, shown: element("label", {}, label, select) };
  }

  const named = (names) => [...new Set(names)].sort().map((name) => [name, name]);
  const counted = (flag) => cases.filter((one) => one.flags.includes(flag)).length;

  const total = box && Number(box.dataset.n);
  const shown = total > cases.length ? " shown" : ""; // where the page does not hold them all

  const show = choice("Show", [["", shown ? `${cases.length} shown of ${total}` : `all ${cases.length} cases`],
    ...[["worse", "worse"], ["better", "better"], ["same", "the same"], ["unsteady", "unsteady in the candidate"],
      ["incomplete", "with incomplete trials"]].filter(([flag]) => counted(flag))
      .map(([flag, words]) => [flag, `${words} (${counted(flag)}${shown})`])], filter);
  const slice = choice("Slice", [["", "all"], ...named(cases.flatMap((one) => one.slices))], filter);
  const source = choice("Source", [["", "all"], ...named(cases.map((one) => one.source).filter(Boolean))], filter);
  const search = element("input", { type: "search", oninput: filter });
  const sort = choice("Sort", [["worst", "worst first"], ["best", "best first"], ["name", "by name"],
    ["source", "by source"], ["file", "in the comparison’s order"]], order);
  const count = element("output", {});

  function matches(one) {
    if (show.select.value && !one.flags.includes(show.select.value)) return false;
    if (slice.select.value && !one.slices.includes(slice.select.value)) return false;
    if (source.select.value && one.source !== source.select.value) return false;
    const wanted = search.value.trim().toLowerCase();
    if (!wanted) return true;
    one.text ??= `${one.source} ${one.slices.join(" ")} ${one.row.textContent}`.toLowerCase();
    return one.text.includes(wanted);
  }

  function filter() {
    let left = 0;
    for (const one of cases) {
      one.row.hidden = !matches(one);
      left += !one.row.hidden;
    }
    const asked = [show, slice, source].some(({ select }) => select.value) || search.value.trim();
    for (const table of box.querySelectorAll(":scope > details")) {
      if (asked && table.querySelector("tr[data-f]:not([hidden])")) table.open = true;
    }
    count.textContent = left === cases.length ? "" : `${left} of ${cases.length}${shown} cases`;
  }

  const orders = {
    worst: (one, other) => one.difference - other.difference || one.place - other.place,
    best: (one, other) => other.difference - one.difference || one.place - other.place,
    name: (one, other) => one.name.localeCompare(other.name) || one.place - other.place,
    source: (one, other) => one.source.localeCompare(other.source) || one.place - other.place,
    file: (one, other) => one.row.dataset.i - other.row.dataset.i,
  };

  /* Sort the rows of each table in their own table; a row that is no case comes after them. */
  function order() {
    const wanted = [...cases].sort(orders[sort.select.value]);
    for (const body of box.querySelectorAll(".cases > tbody")) {
      const others = [...body.children].filter((row) => !row.dataset.f);
      body.append(...wanted.map((one) => one.row).filter((row) => row.parentNode === body), ...others);
    }
  }

  /* Return the row of the case whose id somebody typed after "#case-" as it is; a browser escapes a part of it. */
  function typed(hash) {
    const plain = hash.replace(/(%[0-9a-f]{2})+/gi, (part) => {
      try { return decodeURIComponent(part); } catch { return part; }
    });
    return cases.find(({ name }) => [hash, plain].includes(`case-${name}`))?.row;
  }

  /* Open and show the case that the address names, whatever the filters hide. */
  function follow() {
    const hash = location.hash.slice(1);
    const target = hash && document.getElementById(hash);
    if (!target) {
      const one = hash && typed(hash);
      if (one) location.replace(`#${one.id}`); // which is followed in turn
      return;
    }
    const row = target.closest("tr[data-f]");
    if (row && row.hidden) {
      for (const { select } of [show, slice, source]) select.value = "";
      search.value = "";
      filter();
    }
    for (let part = target; part; part = part.parentElement) {
      if (part.tagName === "DETAILS") part.open = true;
    }
    const own = target.querySelector(":scope > th > details");
    if (own) own.open = true;
    (row || target).scrollIntoView();
  }

  if (cases.length > 1) {
    const filters = element("div", { className: "filters" }, show.shown);
    filters.setAttribute("role", "search");
    filters.setAttribute("aria-label", "Cases");
    for (const part of [slice, source]) if (part.select.options.length > 2) filters.append(part.shown);
    filters.append(element("label", {}, "Text", search), sort.shown, count);
    box.querySelector(".scroll").before(filters);
  }
  addEventListener("hashchange", follow);
  addEventListener("click", (event) => { // on a link to what the address names already, which changes no hash
    if (event.target.closest?.('a[href^="#"]')?.hash === location.hash) follow();
  });
  follow();
})();
