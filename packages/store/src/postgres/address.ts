import { createHash } from 'node:crypto'
import { HoldfastError } from 'holdfast'

/** The address of a store in PostgreSQL. */
export interface DatabaseAddress {
  /** The url for the driver. It can contain a password. */
  url: string
  /** Host and database, for messages. */
  displayName: string
  /** The schema of the tables. */
  schema: string
  /** Host, port, database and schema, without credentials. */
  description: string
  /** The description as the name of a folder, with a hash that makes it unique. */
  folder: string
}

const SCHEMA_PATTERN = /^[a-z_][a-z0-9_]{0,39}$/

const createUrlError = (problem: string) => new HoldfastError('INVALID_OPTIONS', `store: ${problem}`)

/** Parses the url of a store. `?schema=NAME` is for the store; everything else is for the driver. @throws INVALID_OPTIONS */
export function parseAddress(text: string, schema?: string): DatabaseAddress {
  if (!URL.canParse(text) || !/^postgres(ql)?:\/\//.test(text))
    throw createUrlError('not a valid url; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE')
  const url = new URL(text)
  const named = schema ?? url.searchParams.get('schema') ?? 'holdfast'
  if (!SCHEMA_PATTERN.test(named))
    throw createUrlError(
      `schema: expected 1 to 40 of the characters a to z, 0 to 9 and _, beginning with a letter or _, got ${JSON.stringify(named)}`,
    )
  url.searchParams.delete('schema')
  const displayName = `${url.host === '' ? 'localhost' : url.host}${url.pathname}`
  return { url: url.href, displayName, schema: named, ...resolveLocation(url, named) }
}

/** The location that the driver uses: parameters of the url first, then its parts, then environment variables. */
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
