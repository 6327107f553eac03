import { createHash } from 'node:crypto'
import { HoldfastError } from 'holdfast'

/** Where a store in PostgreSQL lies. */
export interface DatabaseAddress {
  /** What the driver is given. It may hold a password. */
  url: string
  /** What may be shown: host and database. */
  displayName: string
  /** The schema that holds the tables. */
  schema: string
  /** What it is, in words: host, port, database and schema, and no credentials. */
  description: string
  /** The same as the name of a folder: what can be read of it, and a hash that tells it from others. */
  folder: string
}

const SCHEMA_PATTERN = /^[a-z_][a-z0-9_]{0,39}$/

const createUrlError = (problem: string) =>
  new HoldfastError('INVALID_OPTIONS', `the url of the store ${problem}`)

/** Reads the url of a store. `?schema=NAME` is ours; the rest is for the driver. */
export function parseAddress(text: string, schema?: string): DatabaseAddress {
  if (!URL.canParse(text) || !/^postgres(ql)?:\/\//.test(text))
    throw createUrlError('is not understood; it takes postgres://USER:PASSWORD@HOST:PORT/DATABASE')
  const url = new URL(text)
  const named = schema ?? url.searchParams.get('schema') ?? 'holdfast'
  if (!SCHEMA_PATTERN.test(named))
    throw createUrlError(
      `names a schema that is not valid: expected 1 to 40 of the characters a to z, 0 to 9 and _, beginning with a letter or _, got ${JSON.stringify(named)}`,
    )
  url.searchParams.delete('schema')
  const displayName = `${url.host === '' ? 'localhost' : url.host}${url.pathname}`
  return { url: url.href, displayName, schema: named, ...resolveLocation(url, named) }
}

/** Where the driver will look: what the url leaves out is in the environment, and its parameters win. */
function resolveLocation({ hostname, port, pathname, searchParams, username }: URL, schema: string) {
  const { PGHOST, PGPORT, PGDATABASE, PGUSER } = process.env
  const host = (
    searchParams.get('host') ||
    decodeURIComponent(hostname) ||
    PGHOST ||
    'localhost'
  ).toLowerCase()
  const portOrDefault = searchParams.get('port') || port || PGPORT || '5432'
  const user = decodeURIComponent(username) || PGUSER || ''
  const database = decodeURIComponent(pathname.slice(1)) || PGDATABASE || user
  const parts = [host, portOrDefault, database, schema]
  const words = parts
    .join('-')
    .replaceAll(/[^\w.-]+/g, '_')
    .slice(0, 80)
  const hash = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8)
  return { description: `${host}:${portOrDefault}/${database}, schema ${schema}`, folder: `${words}-${hash}` }
}
