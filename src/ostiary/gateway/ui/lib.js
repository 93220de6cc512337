// What every part of the page is made with: elements, state that can be watched, and a few small habits.
import { h, render, Fragment } from "./vendor/preact.js";
import htm from "./vendor/htm.js";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./vendor/hooks.js";

export { render, Fragment, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState };
export const html = htm.bind(h);

/** A value that tells its watchers when it changed. */
export class Cell {
  #value;
  #watchers = new Set();
  constructor(value) {
    this.#value = value;
  }
  get value() {
    return this.#value;
  }
  set value(next) {
    if (Object.is(next, this.#value)) return;
    this.#value = next;
    this.touch();
  }
  /** Say that something inside the value changed. */
  touch() {
    for (const watcher of [...this.#watchers]) watcher(this.#value);
  }
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

/** The cell's value, kept current in a component. */
export const useCell = (cell) => {
  const [, redraw] = useState(0);
  useLayoutEffect(() => {
    redraw((n) => n + 1);
    return cell.watch(() => redraw((n) => n + 1));
  }, [cell]);
  return cell.value;
};

/** Run `load` when `deps` change; gives {value, error, loading, again}. A late answer to an old question is dropped. */
export const useLoad = (load, deps) => {
  const [state, set] = useState({ loading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    set((old) => ({ ...old, loading: true }));
    Promise.resolve()
      .then(load)
      .then(
        (value) => isCurrent && set({ value, loading: false }),
        (error) => isCurrent && set((old) => ({ value: old.value, error, loading: false })),
      );
    return () => {
      isCurrent = false;
    };
  }, [...deps, turn]);
  return { ...state, again: useCallback(() => setTurn((n) => n + 1), []) };
};

/** A listener on `target` for as long as the component is shown. */
export const useEvent = (target, name, handler) => {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const call = (event) => latest.current(event);
    target.addEventListener(name, call);
    return () => target.removeEventListener(name, call);
  }, [target, name]);
};

export const cls = (...names) => names.filter(Boolean).join(" ");

export const newId = (bytes = 12) =>
  [...crypto.getRandomValues(new Uint8Array(bytes))].map((b) => b.toString(36).padStart(2, "0")).join("").slice(0, bytes * 2);

/** What a browser keeps, under names of ours. One that keeps nothing still works. */
const keeper = (storage) => ({
  get(name, fallback = "") {
    try {
      return storage().getItem(`ostiary.${name}`) ?? fallback;
    } catch {
      return fallback;
    }
  },
  set(name, value) {
    try {
      if (value === "") storage().removeItem(`ostiary.${name}`);
      else storage().setItem(`ostiary.${name}`, value);
    } catch {
      // Then only this page remembers.
    }
  },
  /** Drop everything whose name begins so. */
  drop(beginning) {
    try {
      for (const name of Object.keys(storage())) if (name.startsWith(`ostiary.${beginning}`)) storage().removeItem(name);
    } catch {
      // There was nothing to drop.
    }
  },
});
/** Preferences and drafts, for every tab and for good; drafts go when one signs out. */
export const kept = keeper(() => localStorage);
/** For this tab, over a reload. */
export const keptHere = keeper(() => sessionStorage);

/** Where the app lives, with a slash at the end: everything else is found relative to it. */
export const base = new URL(document.querySelector('link[rel="manifest"]').href).pathname.replace(/[^/]*$/, "");
