import { HoldfastError } from 'holdfast'

/** Where a store in PostgreSQL lies. */
export interface Address {
  /** What the driver is given. It may hold a password. */
  url: string
  /** What may be shown: host and database. */
  shown: string
  /** The schema that holds the tables. */
  schema: string
}

const SCHEMA = /^[a-z_][a-z0-9_]{0,39}$/

const refuse = (problem: string) => new HoldfastError('INVALID_OPTIONS', `the url of the store ${problem}`)

/** Reads the url of a store. `?schema=NAME` is ours; the rest is for the driver. */
export function readAddress(text: string, schema?: string): Address {
  if (!URL.canParse(text) || !/^postgres(ql)?:\/\//.test(text))
    throw refuse('is not understood; it takes postgres://USER:PASSWORD@HOST:PORT/DATABASE')
  const url = new URL(text)
  const named = schema ?? url.searchParams.get('schema') ?? 'holdfast'
  if (!SCHEMA.test(named))
    throw refuse(
      `names the schema ${JSON.stringify(named)}; it takes up to 40 small letters, digits and underscores`,
    )
  url.searchParams.delete('schema')
  const host = url.host === '' ? 'localhost' : url.host
  return { url: url.href, shown: `${host}${url.pathname}`, schema: named }
}
