// Elements from plain values. Whatever a program calls its layers and files becomes text, never markup.

type Child = Node | string | null | undefined | false;

/** An element: "div.class.other", its attributes (functions are listeners) and its children. */
export function h(what: string, attributes: Record<string, unknown> = {}, ...children: Child[]): HTMLElement {
  const [tag, ...classes] = what.split(".");
  const made = document.createElement(tag || "div");
  if (classes.length) made.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value as EventListener);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  for (const child of children) if (child) made.append(child);
  return made;
}

export function fill(target: Element, ...children: Child[]): void {
  target.replaceChildren(...children.filter((c): c is Node | string => Boolean(c)));
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found as T;
}
