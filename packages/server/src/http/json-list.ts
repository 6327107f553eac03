import { nextMacrotask } from 'holdfast/internal'
import type { Context } from 'hono'
import type { Env } from './env.js'

/** How many records are serialized in a turn of the event loop: 1 to 2 ms. */
const RECORDS_PER_TURN = 50

/** The JSON of a list. The event loop gets turns in between, so that other requests and calls do not wait for a long list. */
export async function serializeInTurns<T>(
  items: readonly T[],
  encode: (item: T) => unknown,
  itemsPerTurn: number,
): Promise<string> {
  const parts: string[] = []
  for (const item of items) {
    if (parts.length > 0 && parts.length % itemsPerTurn === 0) await nextMacrotask()
    parts.push(JSON.stringify(encode(item)))
  }
  return `[${parts.join(',')}]`
}

/** Responds with a page of up to 1,000 records in the field `name`, and with its cursor. */
export async function respondWithPage<T>(
  c: Context<Env>,
  name: string,
  { items, cursor }: { items: readonly T[]; cursor?: string | undefined },
  encode: (item: T) => unknown,
): Promise<Response> {
  const list = await serializeInTurns(items, encode, RECORDS_PER_TURN)
  const next = cursor === undefined ? '' : `,"cursor":${JSON.stringify(cursor)}`
  return c.body(`{"${name}":${list}${next}}`, 200, { 'content-type': 'application/json' })
}
