import { forEachInTurns } from 'holdfast/internal'
import type { Context } from 'hono'
import type { Env } from './env.js'

/** How many records are serialized in a turn of the event loop: 1 to 2 ms. */
const RECORDS_PER_TURN = 50

/** The JSON of each item, separated by commas. The event loop gets turns in between, so that other requests and calls do not wait. */
async function joinInTurns<T>(
  items: readonly T[],
  itemsPerTurn: number,
  toJson: (item: T) => string,
): Promise<string> {
  const parts: string[] = []
  await forEachInTurns(items, itemsPerTurn, (item) => void parts.push(toJson(item)))
  return parts.join(',')
}

/** The JSON of a list, in turns of the event loop. */
export async function serializeInTurns<T>(
  items: readonly T[],
  encode: (item: T) => unknown,
  itemsPerTurn = RECORDS_PER_TURN,
): Promise<string> {
  return `[${await joinInTurns(items, itemsPerTurn, (item) => JSON.stringify(encode(item)))}]`
}

/** The JSON of an object with many fields, in turns of the event loop. */
export async function serializeFieldsInTurns<T>(
  fields: Readonly<Record<string, T>>,
  encode: (name: string, value: T) => unknown,
): Promise<string> {
  const toJson = ([name, value]: [string, T]) =>
    `${JSON.stringify(name)}:${JSON.stringify(encode(name, value))}`
  return `{${await joinInTurns(Object.entries(fields), RECORDS_PER_TURN, toJson)}}`
}

/** Responds with a page of up to 1,000 records in the field `name`, and with its cursor. */
export async function respondWithPage<T>(
  c: Context<Env>,
  name: string,
  { items, cursor }: { items: readonly T[]; cursor?: string | undefined },
  encode: (item: T) => unknown,
): Promise<Response> {
  const list = await serializeInTurns(items, encode)
  const next = cursor === undefined ? '' : `,"cursor":${JSON.stringify(cursor)}`
  return respondWithJson(c, `{"${name}":${list}${next}}`)
}

/** Responds with text that is JSON. */
export const respondWithJson = (c: Context<Env>, json: string): Response =>
  c.body(json, 200, { 'content-type': 'application/json' })
