// The page's frame: header, three columns, the strip of curves below.

import { h } from "./dom";

function mark(): SVGSVGElement {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("viewBox", "0 0 32 32");
  svg.setAttribute("class", "mark");
  const rect = document.createElementNS(ns, "rect");
  for (const [k, v] of Object.entries({ width: 32, height: 32, rx: 8, class: "mark-back" })) rect.setAttribute(k, String(v));
  const path = document.createElementNS(ns, "path");
  path.setAttribute("d", "M7 10l4.5 13L16 12l4.5 11L25 10");
  path.setAttribute("class", "mark-line");
  svg.append(rect, path);
  return svg;
}

function tabs(id: string, names: [string, string][]): HTMLElement {
  return h("div.tabs", { id, role: "tablist" }, ...names.map(([name, label], i) =>
    h(`button.tab${i === 0 ? ".chosen" : ""}`, { role: "tab", "data-tab": name }, label)));
}

export function shell(live: boolean): HTMLElement {
  return h("div.page", {},
    h("header", {}, mark(), h("span.title", { id: "program" }, "weft"), h("span.state", { id: "state" }, "waiting"),
      h("span.pace", { id: "pace" }), h("span.space"),
      h("div.search", {}, h("input", { id: "search", type: "search", placeholder: "Search ops, modules, lines   /", "aria-label": "search",
        autocomplete: "off", spellcheck: "false" }), h("span.faint", { id: "hits" })),
      live ? h("div.group", {}, h("button", { id: "pause", title: "stand still after this step" }, "Pause"),
        h("button", { id: "step", title: "one step, then stand still" }, "Step"),
        h("button.primary", { id: "resume", disabled: true }, "Resume"),
        h("button", { id: "pdb", disabled: true, title: "let pdb take over in the terminal, if the program has one" }, "pdb")) : null,
      live ? h("a.button", { id: "save", href: "save", download: "weft-live-view.html", title: "this page as one file" }, "Save") : null,
      h("button.icon", { id: "theme", "aria-label": "light or dark", title: "light or dark" }, "◐")),
    h("main", {},
      h("aside.left", {}, h("div.panel-head", {}, "Modules", h("span.faint", { id: "whole" })),
        h("input", { id: "tree-search", type: "search", placeholder: "Filter modules", "aria-label": "filter modules" }),
        h("div.tree", { id: "tree", role: "tree", "aria-label": "modules" }), h("div.outside", { id: "outside" })),
      h("section.middle", {},
        h("canvas", { id: "graph", tabindex: 0, "aria-label": "graph of the last step; arrows move, + and - zoom, Enter opens a module" }),
        h("div.tools.bottom-left", {}, h("div.group", { id: "phases", role: "radiogroup" },
          ...[["0", "Forward"], ["1", "Backward"], ["0,1,2", "Whole step"]].map(([value, label], i) =>
            h(`button${i === 0 ? ".chosen" : ""}`, { "data-phases": value, role: "radio", "aria-checked": i === 0 }, label))),
        h("div.group", {}, h("button", { id: "open-all", title: "open one more level" }, "Open"), h("button", { id: "close-all" }, "Close"))),
        h("div.tools.bottom-right", {}, h("div.group", {}, h("button.icon", { id: "zoom-out", "aria-label": "zoom out" }, "−"),
          h("button", { id: "fit" }, "Fit"), h("button.icon", { id: "zoom-in", "aria-label": "zoom in" }, "+"))),
        h("div.waiting", { id: "waiting" }, h("div.spinner"), h("p", {}, "Waiting for the first step"),
          h("p.faint", {}, "A step ends when an optimiser's step returns, or when the program calls page.step()."))),
      h("aside.right", {}, tabs("side-tabs", [["node", "Node"], ["stop", "Stopped"], ["points", "Breakpoints"]]),
        h("div.side-body", { id: "node" }),
        h("div.side-body", { id: "stop", hidden: true }, h("div.empty", {}, h("p", {}, "The program runs."))),
        h("div.side-body", { id: "points", hidden: true },
          live ? h("form.add-point", { id: "add-point" },
            h("input", { id: "condition", placeholder: "any output of layer3 is not finite", "aria-label": "condition", autocomplete: "off",
              spellcheck: "false" }), h("button.primary", {}, "Add")) : null,
          h("div.note.alarm", { id: "condition-error", role: "alert" }), h("div", { id: "point-list" }),
          h("div.help", {}, h("h3", {}, "Conditions"), ...["loss is nan", "grad norm > 100", "grad norm of head > 10", "update ratio > 0.1",
            "any output of layer3 is not finite", "any gradient is inf", "absmax of encoder.* > 1e4", "step == 200 and memory > 1.5 GB"]
            .map((text) => h("button.example", { "data-text": text }, text)))))),
    h("footer", {}, tabs("foot-tabs", [["curves", "Curves"], ["layers", "Layers"], ["memory", "Memory"], ["compiled", "Compiled"]]),
      h("div.foot-body.curves", { id: "curves" }, ...[["loss", "Loss"], ["grad", "Gradient norm"], ["update", "Update / weight, median"]].map(
        ([id, label]) => h("figure", {}, h("figcaption", {}, label, h("b", { id: `${id}-now` })), h("canvas", { id: `${id}-chart`, role: "img", "aria-label": label })))),
      h("div.foot-body", { id: "layers", hidden: true }),
      h("div.foot-body", { id: "memory", hidden: true }, h("figure", {}, h("figcaption", {}, "Live bytes over the ops of the step", h("b", { id: "memory-now" })),
        h("canvas", { id: "memory-chart", role: "img", "aria-label": "memory over the step" }))),
      h("div.foot-body.compiled", { id: "compiled", hidden: true })));
}
