import type { DeadLetter } from '@holdfast/records'
import type { DeadLetterFilter, DeadLetterSelector, DeadLetterStore, Page } from '@holdfast/store'
import type { PayloadCipher } from './payload-cipher.js'

/** How many entries of the store a search reads at a time. */
const SCAN_SIZE = 200

/** Whether an entry contains a text: in its item id, its correlation id, or the JSON of one of its payloads. */
export function containsText(entry: DeadLetter, text: string): boolean {
  const wanted = text.toLowerCase()
  const { itemId, correlationId, originalPayload, editedPayload } = entry
  const texts = [itemId, correlationId, JSON.stringify(originalPayload), JSON.stringify(editedPayload)]
  return texts.some((each) => each?.toLowerCase().includes(wanted))
}

/** The entries that a selector finds and that contain a text, oldest first. Payloads can be encrypted, so each entry is read. */
export async function* searchEntries(
  store: DeadLetterStore,
  cipher: PayloadCipher,
  selector: DeadLetterSelector,
  text: string,
  now: Date,
): AsyncGenerator<DeadLetter> {
  let cursor: string | undefined
  do {
    const page = await store.list({ ...selector, limit: SCAN_SIZE, cursor }, now)
    yield* page.items.filter((entry) => containsText(cipher.decryptForList(entry), text))
    cursor = page.cursor
  } while (cursor !== undefined)
}

/** A page of the entries that contain a text, with stored payloads. */
export async function searchPage(
  store: DeadLetterStore,
  cipher: PayloadCipher,
  filter: DeadLetterFilter,
  text: string,
  now: Date,
): Promise<Page<DeadLetter>> {
  const { limit = 100 } = filter
  const items: DeadLetter[] = []
  let { cursor } = filter
  for (;;) {
    const page: Page<DeadLetter> = await store.list({ ...filter, limit: SCAN_SIZE, cursor }, now)
    for (const [index, entry] of page.items.entries()) {
      if (!containsText(cipher.decryptForList(entry), text)) continue
      items.push(entry)
      if (items.length < limit) continue
      // The cursor of the store that continues after this entry.
      const start = await store.list({ ...filter, limit: index + 1, cursor }, now)
      return { items, ...(start.cursor === undefined ? {} : { cursor: start.cursor }) }
    }
    if (page.cursor === undefined) return { items }
    cursor = page.cursor
  }
}
