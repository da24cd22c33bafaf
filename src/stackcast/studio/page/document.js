// A game that is edited: checked by the server as one types, saved when it is right, undone and redone.
import { api, at } from "./api.js";
import { say } from "./dom.js";

const copy = (value) => structuredClone(value);
const MOST = 100;

export class GameDocument {
  /** `opened` is what the server sent; `told` is called with whatever is new. */
  constructor(opened, told) {
    Object.assign(this, { name: opened.name, origin: opened.origin, mark: opened.mark, table: opened.table, told });
    this.past = []; this.future = []; this.turn = 0; this.editing = null; this.saving = Promise.resolve();
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.key()) ?? "null");
      if (kept?.mark === this.mark && kept.mark) [this.past, this.future] = [kept.past, kept.future];
    } catch { /* storage may be off */ }
  }
  key() { return `undo ${this.origin} ${this.name}`; }
  remember() {
    try { sessionStorage.setItem(this.key(), JSON.stringify({ mark: this.mark, past: this.past.slice(-MOST), future: this.future.slice(-MOST) })); } catch { /* not kept */ }
  }
  /** Change the table; edits with the same key in a row are undone together. */
  change(edit, key = null) {
    if (key === null || key !== this.editing) { this.past.push(copy(this.table)); this.past = this.past.slice(-MOST); }
    this.editing = key; this.future = [];
    edit(this.table);
    this.check(true);
  }
  rest() { this.editing = null; }
  undo() { this.travel(this.past, this.future, "Undone"); }
  redo() { this.travel(this.future, this.past, "Done again"); }
  travel(from, to, words) {
    if (!from.length) return;
    to.push(copy(this.table)); this.table = from.pop(); this.editing = null;
    this.told({ redraw: true });
    this.check(true);
    say(words, 0);
  }
  /** Show what the game led to when it was opened, before anything is drawn. */
  async begin(see) {
    const turn = ++this.turn;
    this.told(see instanceof Error ? { error: see } : { see });
    if (see instanceof Error) return;
    const worth = await api.post("worth", { table: copy(this.table) }).catch(() => null);
    if (worth && turn === this.turn) this.told({ worth });
  }
  /** Ask the server what the game leads to; the last question counts. */
  check(keep = false, delay = keep ? 120 : 0) {
    const turn = ++this.turn;
    clearTimeout(this.timer);
    this.told({ pending: true });
    this.timer = setTimeout(async () => {
      const table = copy(this.table);
      try {
        const see = await api.post("see", { table });
        if (turn !== this.turn) return;
        this.told({ see });
        if (keep) this.save(table);
        const worth = await api.post("worth", { table });
        if (turn === this.turn) this.told({ worth });
      } catch (error) {
        if (turn === this.turn) this.told({ error });
      }
    }, delay);
  }
  /** Save after what is being saved already; a game of the catalogue becomes a copy in the folder. */
  save(table, over = false) {
    this.saving = this.saving.then(async () => {
      try {
        if (this.origin === "catalogue") {
          const saved = await api.post("games", { table: { ...table, name: table.name } });
          Object.assign(this, { origin: "folder", name: saved.name, mark: saved.mark });
          history.replaceState(null, "", `#/game/${at("folder", saved.name)}`);
          this.told({ copied: saved.name });
        } else {
          if (over) this.mark = (await api.get(`games/folder/${at(this.name)}`).catch(() => ({ mark: this.mark }))).mark;
          this.mark = (await api.put(`games/folder/${at(this.name)}`, { table, mark: this.mark })).mark;
        }
        this.remember();
        this.told({ saved: true });
      } catch (error) {
        this.told(error.status === 409 ? { conflict: error, table } : { error });
      }
    });
  }
}
