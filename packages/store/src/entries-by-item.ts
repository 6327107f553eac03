import { SortedList, type SortKey } from './sorted-list.js'

/**
 * The entries of each item in order of age. Most items have one entry, which is stored without a list: lists of one entry would
 * take more memory than the rest of the index.
 */
export class EntriesByItem<S extends SortKey & { readonly itemId: string }> {
  private readonly byItem = new Map<string, S | SortedList<S>>()

  add(entry: S): void {
    const present = this.byItem.get(entry.itemId)
    if (present === undefined) this.byItem.set(entry.itemId, entry)
    else if (present instanceof SortedList) present.add(entry)
    else this.byItem.set(entry.itemId, createList(present, entry))
  }

  delete(entry: S): void {
    const present = this.byItem.get(entry.itemId)
    if (present instanceof SortedList) {
      present.delete(entry)
      if (present.size > 0) return
    }
    this.byItem.delete(entry.itemId)
  }

  /** The entries of an item; empty for an unknown one. */
  find(itemId: string): SortedList<S> {
    const present = this.byItem.get(itemId)
    if (present === undefined) return new SortedList()
    return present instanceof SortedList ? present : createList(present)
  }
}

function createList<S extends SortKey>(...entries: readonly S[]): SortedList<S> {
  const list = new SortedList<S>()
  for (const entry of entries) list.add(entry)
  return list
}
