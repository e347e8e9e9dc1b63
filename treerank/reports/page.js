"use strict";
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const PAGE = 25;
  const find = (id) => document.getElementById(id);
  const count = (n) => n.toLocaleString("en");

  // Text only ever becomes text: nothing here reads markup from the data.
  function make(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children.map((child) => (child instanceof Node ? child : String(child))));
    return node;
  }

  function draw(name, attributes, ...children) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  const number = (value) => make("td", { class: "number" }, value === null ? "" : value);

  function row(name, ...cells) {
    return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
  }

  function table(caption, names, rows, nText = 1) {
    const head = names.map((name, i) => name === "" ? make("td", {})
      : make("th", { scope: "col", ...(i >= nText && { class: "number" }) }, name));
    const inner = make("table", {}, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
    const label = { class: "scrolling", role: "region", "aria-label": caption, tabindex: "0" };
    return make("div", label, inner);
  }

  // Half of a pair of surrogates, from a name that is no UTF-8, cannot be part of an address.
  const anchorOf = (id) => `query-${encodeURIComponent(id.replace(/\p{Surrogate}/gu, "\ufffd"))}`;

  // Of two queries of one name, the second has a number behind it.
  const places = new Map((data.examples || []).map((example, i) => [example.number, i]));
  const rowsByAnchor = new Map();
  const anchors = new Map();
  (data.queries || []).map((one, i) => [one.at(-1), String(data.ids ? data.ids[i] : one[0]), i])
    .sort((a, b) => a[0] - b[0])
    .forEach(([query, id, i]) => {
      let anchor = anchorOf(id);
      for (let n = 2; rowsByAnchor.has(anchor); n += 1) anchor = `${anchorOf(id)}-${n}`;
      rowsByAnchor.set(anchor, i);
      anchors.set(query, anchor);
    });

  let showExample = () => {};

  function queryTable() {
    const body = find("table-of-queries").tBodies[0];
    const heads = [...find("table-of-queries").tHead.rows[0].cells];
    const search = find("search");
    let shown = data.queries;
    let first = 0;
    let order = null;

    function cell(value, i) {
      return typeof value === "number" && i > 2 ? value.toFixed(4) : value;
    }

    function link(name, query) {
      const made = make("a", { href: `#${anchors.get(query)}` }, name);
      made.addEventListener("click", (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        try { history.pushState(null, "", made.getAttribute("href")); } catch { /* in a frame */ }
        showExample(query);
      });
      return made;
    }

    function render() {
      const some = shown.slice(first, first + PAGE);
      body.replaceChildren(...some.map((one) => {
        const values = one.slice(1, -1).map((value, i) => number(cell(value, i + 1)));
        const made = row(link(one[0], one.at(-1)), ...values);
        made.id = anchors.get(one.at(-1));
        return made;
      }));
      find("previous-page").disabled = first === 0;
      find("next-page").disabled = first + PAGE >= shown.length;
      const range = shown.length === 0 ? "No query"
        : `Queries ${count(first + 1)} to ${count(first + some.length)} of ${count(shown.length)}`;
      find("page-status").textContent = range;
    }

    function compare(a, b) {
      if (a === null || b === null) return (a === null) - (b === null);
      const gap = typeof a === "number" ? a - b
        : a.localeCompare(b, "en", { numeric: true });
      return order.falling ? -gap : gap;
    }

    function update() {
      const words = search.value.trim().toLowerCase();
      shown = data.queries.filter(([name]) => name.toLowerCase().includes(words));
      if (order !== null) shown.sort((a, b) => compare(a[order.column], b[order.column]));
      first = 0;
      render();
    }

    const initial = heads.findIndex((head) => head.hasAttribute("aria-sort"));
    heads.forEach((head, column) => head.firstChild.addEventListener("click", () => {
      const again = order === null ? column === initial : order.column === column;
      order = { column, falling: again && !(order !== null && order.falling) };
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order.falling ? "descending" : "ascending");
      update();
    }));
    search.addEventListener("input", update);
    find("previous-page").addEventListener("click", () => { first -= PAGE; render(); });
    find("next-page").addEventListener("click", () => { first += PAGE; render(); });
    const names = heads.map((head) => head.textContent);
    find("next-page").after(saveButton("queries", () => [names, ...shown.map((one) => one.slice(0, -1))],
      "Save as CSV"));
    render();
  }

  // A cell that a spreadsheet would take for a formula begins with an apostrophe; numbers do not.
  function csvCell(value) {
    if (value === null) return "";
    let text = String(value);
    const isNumber = typeof value === "number" || /^[+-]?(\d[\d,]*)?(\.\d+)?(e[+-]?\d+)?$/i.test(text);
    if (isNumber) text = text.replaceAll(",", "");
    else if (/^[=+\-@\t\r]/.test(text)) text = `'${text}`;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csvText(rows) {
    return `\ufeff${rows.map((one) => `${one.map(csvCell).join(",")}\r\n`).join("")}`;
  }

  function saveButton(name, rows, text = "CSV") {
    const made = make("button", { type: "button", class: "save" }, text);
    if (text === "CSV") made.setAttribute("aria-label", `Save as CSV: ${name}`);
    made.addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([csvText(rows())], { type: "text/csv" }));
      const file = name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60);
      const link = make("a", { href: address, download: `${file || "table"}.csv` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(address), 10_000);
    });
    return made;
  }

  // The text of a cell without drawings.
  function cellText(cell) {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll("svg").forEach((drawing) => drawing.remove());
    return copy.textContent;
  }

  function saveable(table) {
    const name = table.caption.textContent;
    const rows = () => [...table.rows].map((one) => [...one.cells].map(cellText));
    table.caption.append(" ", saveButton(name, rows));
  }

  // Charts: the values of the band under the pointer, or of the one that arrow keys choose.
  function readouts() {
    const tip = make("div", { class: "tip", "aria-hidden": "true" });
    const said = make("div", { class: "unseen", role: "status" });
    document.body.append(tip, said);

    for (const chart of document.querySelectorAll("svg.chart")) {
      const bands = [...chart.querySelectorAll(".band")];
      if (bands.length === 0) continue;
      const texts = bands.map((band) => band.firstChild.textContent);
      bands.forEach((band) => band.replaceChildren());
      chart.setAttribute("tabindex", "0");
      chart.setAttribute("aria-label", `${chart.getAttribute("aria-label")}. Arrow keys read the values.`);
      let at = -1;

      const show = (place, aloud) => {
        if (at >= 0) bands[at].classList.remove("on");
        at = place;
        tip.classList.toggle("on", at >= 0);
        if (at < 0) return;
        bands[at].classList.add("on");
        tip.textContent = texts[at];
        if (aloud) said.textContent = texts[at];
        const band = bands[at].getBoundingClientRect();
        const box = chart.getBoundingClientRect();
        const left = band.left + band.width / 2 - tip.offsetWidth / 2;
        const most = document.documentElement.clientWidth - tip.offsetWidth - 4;
        tip.style.left = `${Math.max(4, Math.min(left, most)) + scrollX}px`;
        tip.style.top = `${Math.max(4, box.top - tip.offsetHeight - 4) + scrollY}px`;
      };
      bands.forEach((band, i) => band.addEventListener("pointerenter", () => show(i, false)));
      chart.addEventListener("pointerleave", () => show(-1, false));
      chart.addEventListener("blur", () => show(-1, false));
      chart.addEventListener("keydown", (event) => {
        const last = bands.length - 1;
        const moves = { ArrowRight: at + 1, ArrowLeft: at < 0 ? last : at - 1, Home: 0, End: last };
        if (event.key === "Escape") show(-1, false);
        if (!(event.key in moves)) return;
        event.preventDefault();
        show(Math.max(0, Math.min(moves[event.key], last)), true);
      });
    }
  }

  // A query without names: of the first documents a label and the rank of the baseline, by rank,
  // then of others the rank, too.
  function decoded(one, letters) {
    const compared = data.examples.length === 0 ? letters.length > Math.min(one[1], 10)
      : data.examples[0].documents[0].length > 4;
    const documents = [];
    const digit = (letter) => parseInt(letter, 36);
    let at = 0;
    while (at < letters.length) {
      const first = documents.length < Math.min(one[1], 10);
      const rank = first ? documents.length + 1 : digit(letters[at++]);
      const label = data.labels[digit(letters[at++])];
      documents.push([rank, null, label, null, ...(compared ? [digit(letters[at++])] : [])]);
    }
    return documents;
  }

  const rowsByNumber = new Map((data.queries || []).map((one, i) => [one.at(-1), i]));

  function exampleOf(query) {
    const entry = places.has(query) ? data.examples[places.get(query)] : { number: query, swaps: [] };
    if (!rowsByNumber.has(query)) return entry;
    const place = rowsByNumber.get(query);
    const one = data.queries[place];
    const heads = [...find("table-of-queries").tHead.rows[0].cells].map((head) => head.textContent);
    const values = one.slice(3, -1).map((value, i) => `${heads[i + 3]} ${value === null ? "none" : value.toFixed(3)}`);
    const documents = entry.documents || (data.lists.length > 0 ? decoded(one, data.lists[place]) : []);
    return { ...entry, query: one[0], values: values.join(", "), documents };
  }

  const shortLabel = (label) => String(Number(label.toPrecision(4)));

  function grade(label) {
    const level = data.top_label > 0 ? Math.round(4 * Math.max(label, 0) / data.top_label) : 0;
    const shade = label > 0 ? Math.max(level, 1) : 0;
    return make("span", { class: `grade grade${shade}`, title: `label ${shortLabel(label)}` },
      make("span", { class: "unseen" }, "label "), shortLabel(label));
  }

  function lists(example, chosen) {
    const { documents } = example;
    const ranks = new Set(chosen ? chosen.pair.map((one) => one.rank) : []);
    const compared = documents.some((one) => one.length > 4);
    const depth = chosen ? 20 : 10;
    const within = (rank) => rank > 0 && rank <= depth;
    const now = documents.filter((one) => within(one[0]));
    const before = compared ? documents.filter((one) => within(one[4])).sort((a, b) => a[4] - b[4]) : [];
    const items = new Map(documents.map((one) => [one, []]));

    function item(one, rank, other) {
      const [, name, label, score] = one;
      const shown = name === null ? make("span", { class: "name nameless" }, `label ${shortLabel(label)}`)
        : make("span", { class: "name" }, name);
      const parts = [make("span", { class: "rank" }, rank), grade(label), shown];
      if (other !== null) {
        const gap = one[4] === 0 ? null : one[4] - one[0];
        const text = gap === null ? "\u25b2" : gap > 0 ? `\u25b2${gap}` : gap < 0 ? `\u25bc${-gap}` : "";
        if (text !== "") parts.push(make("span", { class: `move ${gap === null || gap > 0 ? "rose" : "fell"}` }, text));
      }
      const notes = [name, `label ${shortLabel(label)}`, score === null ? null : `score ${score.toPrecision(4)}`,
        `rank ${one[0]}`, compared ? `baseline rank ${one[4] || "beyond 35"}` : null];
      const made = make("li", { title: notes.filter((note) => note !== null).join("\n") }, ...parts);
      if (ranks.has(one[0])) made.className = "upset";
      items.get(one).push(made);
      return made;
    }

    const right = make("div", {}, make("h4", {}, compared ? "Ranker" : "Documents by rank"),
      make("ol", {}, ...now.map((one) => item(one, one[0], compared ? one[4] : null))));
    if (!compared) return make("div", { class: "lists" }, right);
    const left = make("div", {}, make("h4", {}, "Baseline"),
      make("ol", {}, ...before.map((one) => item(one, one[4], null))));
    const height = Math.max(now.length, before.length, 1);
    const moves = draw("svg", { class: "moves", viewBox: `0 0 100 ${height}`, preserveAspectRatio: "none",
      "aria-hidden": "true" });
    for (const one of documents) {
      const [rank, , label, , earlier] = one;
      if (!within(rank) && !within(earlier)) continue;
      const from = within(earlier) ? earlier - 0.5 : height + 0.4;
      const to = within(rank) ? rank - 0.5 : height + 0.4;
      const way = label > 0 ? (to < from ? "rose" : to > from ? "fell" : "same") : "none";
      const path = draw("path", { d: `M0 ${from}C50 ${from} 50 ${to} 100 ${to}`, class: `moved ${way}` });
      if (label > 0) moves.append(path); else moves.prepend(path);
      items.get(one).push(path);
    }
    for (const together of items.values()) {
      const light = (on) => together.forEach((one) => one.classList.toggle("on", on));
      for (const one of together) {
        one.addEventListener("pointerenter", () => light(true));
        one.addEventListener("pointerleave", () => light(false));
      }
    }
    return make("div", { class: "lists compared" }, left, moves, right);
  }

  function movesText(documents) {
    const relevant = documents.filter((one) => one[2] > 0);
    const rose = relevant.filter((one) => one[4] === 0 || one[0] < one[4]).length;
    const fell = relevant.filter((one) => one[4] !== 0 && one[0] > one[4]).length;
    return `Relevant documents (label above 0) shown: ${relevant.length}; ${rose} rose, ${fell} fell.`;
  }

  function documentTable(example) {
    const compared = example.documents.some((one) => one.length > 4);
    const rows = example.documents.map(([rank, name, label, score, before]) => {
      const cells = [number(rank), number(shortLabel(label)), number(score.toPrecision(4))];
      if (compared) cells.push(number(before));
      return row(name, ...cells);
    });
    const names = ["document", "rank", "label", "score", ...(compared ? ["baseline rank"] : [])];
    const inner = table(`Documents of query ${example.query}`, names, rows);
    saveable(inner.firstChild);
    return make("details", {}, make("summary", {}, "Documents as a table, with scores"), inner);
  }

  function partBar(part, largest) {
    const width = largest > 0 ? 50 * Math.min(Math.abs(part) / largest, 1) : 0;
    const place = { x: part < 0 ? 50 - width : 50, y: 0, width, height: 10 };
    const box = { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "bar" };
    return draw("svg", { ...box, "aria-hidden": "true" },
      draw("rect", { ...place, class: part < 0 ? "minus" : "plus" }),
      draw("line", { x1: 50, x2: 50, y1: 0, y2: 10, class: "axis" }));
  }

  function signed(value) {
    return (value < 0 ? "" : "+") + value.toPrecision(3);
  }

  function swapTable(swap) {
    const [above, below] = swap.pair;
    const largest = Math.max(Math.abs(swap.rest), ...swap.parts.map((part) => Math.abs(part[1])));
    const rows = swap.parts.map(([feature, part, error, a, b]) => row(feature,
      make("td", { class: "wide" }, partBar(part, largest)),
      number(signed(part) + (error ? ` \u00b1 ${error.toPrecision(2)}` : "")),
      number(a), number(b)));
    if (swap.rest !== 0) {
      rows.push(row("all other features", make("td", { class: "wide" }, partBar(swap.rest, largest)),
        number(signed(swap.rest)), number(""), number("")));
    }
    const caption = "Contribution of each feature to the lead of the upper document";
    const names = ["feature", "", "part", `rank ${above.rank}`, `rank ${below.rank}`];
    const text = `${above.name} (label ${above.label}) is at rank ${above.rank}, above `
      + `${below.name} (label ${below.label}) at rank ${below.rank}. This costs `
      + `${swap.cost.toFixed(4)} of NDCG. The difference of the scores is ${signed(swap.margin)}.`;
    const inner = table(caption, names, rows);
    saveable(inner.firstChild);
    return [make("p", {}, text), inner];
  }

  function examples() {
    const choose = find("choose-example");
    const chooser = data.kinds.reduce((sum, [, length]) => sum + length, 0);
    let current = null;
    let place = 0;
    let swap = 0;

    function step(key, length, at, move) {
      const button = (name, by) => {
        const made = make("button", { type: "button" }, name);
        made.disabled = at + by < 0 || at + by >= length;
        made.addEventListener("click", () => {
          move(at + by);
          const again = [...find(key).querySelectorAll("button")];
          (again.find((one) => one.textContent === name && !one.disabled)
            || again.find((one) => !one.disabled)).focus();
        });
        return made;
      };
      return make("div", { class: "controls", id: key }, button("Previous pair", -1),
        button("Next pair", 1), make("output", { role: "status" }, `Pair ${at + 1} of ${length}`));
    }

    function render() {
      const chosen = current.swaps[swap];
      const left = [];
      const right = [];
      if (current.documents.length > 0) {
        left.push(lists(current, chosen));
        if (current.documents[0].length > 4) left.push(make("p", { class: "soft" }, movesText(current.documents)));
        if (current.documents[0][1] !== null) left.push(documentTable(current));
      }
      if (chosen !== undefined) {
        const length = current.swaps.length;
        if (length > 1) right.push(step("pair-steps", length, swap, (n) => { swap = n; render(); }));
        right.push(...swapTable(chosen));
      } else {
        const why = current.documents.length === 0
          ? "The documents of this query are not in this file."
          : current.documents[0][1] === null
            ? "This file has the grades and ranks of this query, without the names of its documents."
            : "The pairs of this query are not explained here.";
        right.push(make("p", { class: "soft" }, why));
      }
      find("example").replaceChildren(
        make("h3", { tabindex: "-1" }, `Query ${current.query}: ${current.values}`),
        make("div", { class: "columns" }, make("div", {}, ...left), make("div", {}, ...right)));
    }

    function show(query) {
      current = exampleOf(query);
      place = places.has(query) ? places.get(query) : chooser;
      swap = 0;
      choose.value = place < chooser ? String(place) : "";
      find("previous-example").disabled = place === 0;
      find("next-example").disabled = place >= chooser - 1;
      find("example-status").textContent = place < chooser
        ? `Query ${place + 1} of ${chooser}` : "Chosen from the table of queries";
      render();
    }

    let begin = 0;
    for (const [label, length] of data.kinds) {
      const options = data.examples.slice(begin, begin + length)
        .map((example, i) => make("option", { value: begin + i }, exampleOf(example.number).query));
      if (length > 0) choose.append(make("optgroup", { label }, ...options));
      begin += length;
    }
    const showPlace = (n) => show(data.examples[n].number);
    showExample = (query) => {
      show(query);
      find("example").querySelector("h3").focus();
    };
    choose.addEventListener("change", () => showPlace(Number(choose.value)));
    find("previous-example").addEventListener("click", () => showPlace(Math.min(place, chooser) - 1));
    find("next-example").addEventListener("click", () => showPlace(place + 1));
    show(data.examples.length > 0 ? data.examples[0].number : data.queries[0].at(-1));
  }

  function followAddress() {
    const anchor = location.hash.slice(1);
    const known = rowsByAnchor.has(anchor) ? anchor : anchorOf(unescaped(anchor.slice(6)));
    if (anchor.startsWith("query-") && rowsByAnchor.has(known)) {
      showExample(data.queries[rowsByAnchor.get(known)].at(-1));
    }
  }

  function unescaped(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }

  // In the frame of a notebook, an address would be that of the notebook: links only scroll.
  if (location.protocol === "about:") {
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='#']");
      if (link === null) return;
      event.preventDefault();
      const target = find(link.getAttribute("href").slice(1));
      if (target !== null && !target.id.startsWith("query-")) target.scrollIntoView();
    });
  }
  document.querySelectorAll("main table:not(#table-of-queries)").forEach(saveable);
  readouts();
  if (data.queries) queryTable();
  if (data.examples) {
    examples();
    addEventListener("hashchange", followAddress);
    followAddress();
  }
})();
