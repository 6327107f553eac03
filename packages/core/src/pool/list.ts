import { HoldfastError } from '../errors.js'

/** A member of a list: where it is, and what else was said of it. */
export interface ListedMember {
  /** Its url, credentials included. */
  readonly url: string
  /** Its place in the text, in words. */
  readonly at: string
  readonly id?: string
  readonly weight?: number
  readonly region?: string
  readonly cost?: number
  readonly tags?: readonly string[]
}

/** A list that cannot be read: every bad entry by its place, never by what it says, for there may be passwords in it. */
const invalid = (details: readonly string[]) =>
  new HoldfastError('INVALID_OPTIONS', `a list of proxies cannot be read: ${details.join('; ')}`, { details })

type Fields = Record<string, string | number | readonly string[]>

/** An entry as it was found, with the words that tell where. */
interface Entry {
  readonly at: string
  readonly fields: Readonly<Fields>
}

/** What an entry may say, in any of the forms. */
const FIELDS = [
  'url',
  'protocol',
  'host',
  'port',
  'username',
  'password',
  'id',
  'weight',
  'region',
  'cost',
  'tags',
]

/** The statements of a CSV line; quotes hold commas and, doubled, quotes. */
function cells(line: string): string[] {
  return [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, bare = '']) => quoted?.replaceAll('""', '"') ?? bare.trim(),
  )
}

/** `host:port:user:password`, as many sellers of proxies write it. */
const COLONS = /^([\w.-]+):(\d+):([^:\s]+):(\S+)$/

function fromWords(line: string): Fields {
  const [address = '', ...words] = line.split(/\s+/)
  const fields: Fields = {}
  for (const word of words) {
    const equals = word.indexOf('=')
    fields[equals < 0 ? 'nothing' : word.slice(0, equals)] = word.slice(equals + 1)
  }
  const [, host, port = '', username = '', password = ''] = COLONS.exec(address) ?? []
  if (host !== undefined) return { ...fields, host, port, username, password }
  return { ...fields, url: address.includes('://') ? address : `http://${address}` }
}

function fromLines(text: string): Entry[] {
  const lines = text.split(/\r?\n/).map((line, i) => ({ at: `line ${i + 1}`, text: line.trim() }))
  const told = lines.filter((line) => line.text !== '' && !line.text.startsWith('#'))
  const names = cells(told[0]?.text ?? '').map((name) => name.toLowerCase())
  const isCsv = names.includes('url') || names.includes('host')
  if (!isCsv) return told.map((line) => ({ at: line.at, fields: fromWords(line.text) }))
  return told.slice(1).map((line) => {
    const values = cells(line.text)
    const pairs = names.map((name, i) => [name, values[i] ?? ''] as const)
    return { at: line.at, fields: Object.fromEntries(pairs.filter(([, value]) => value !== '')) }
  })
}

function fromJson(text: string): Entry[] {
  let told: unknown
  try {
    told = JSON.parse(text.trim())
  } catch {
    // The message of the parser repeats what it read, and that may be a password.
    throw invalid(['it begins like JSON and is none'])
  }
  const { members, proxies = members } = Object(told) as { members?: unknown; proxies?: unknown }
  const all = Array.isArray(told) ? told : proxies
  if (!Array.isArray(all))
    throw invalid(['got JSON without a list, takes an array, or an object with one under members'])
  return all.map((one: unknown, i) => ({
    at: `entry ${i + 1}`,
    fields: typeof one === 'string' ? fromWords(one.trim()) : plain(Object(one) as object),
  }))
}

/** What can be a field's value. Null says nothing; anything else is shown as what it is not. */
function plain(given: object): Fields {
  const fields: Fields = {}
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (typeof value === 'string' || typeof value === 'number') fields[name] = value
    else if (Array.isArray(value)) fields[name] = value.map((one) => `${one}`)
    else if (value !== null) fields[`${name} of another type`] = ''
  }
  return fields
}

function urlOf(fields: Entry['fields']): string {
  const { url, protocol = 'http', host, port, username, password } = fields
  if (url !== undefined) return `${url}`
  const scheme = `${protocol}`.replace(/:?(\/\/)?$/, '')
  const secret = [username, password].map((part) => encodeURIComponent(`${part ?? ''}`))
  const user = username === undefined ? '' : `${secret.join(':')}@`
  return `${scheme}://${user}${host}${port === undefined ? '' : `:${port}`}`
}

function listed({ at, fields }: Entry, problems: string[]): ListedMember {
  const { id, weight, region, cost, tags } = fields
  for (const name of Object.keys(fields))
    if (!FIELDS.includes(name)) problems.push(`${at}: the fields are ${FIELDS.join(', ')}`)
  if (fields.url === undefined && fields.host === undefined)
    problems.push(`${at}: takes url, or host and port`)
  const member: Record<string, unknown> = { url: urlOf(fields), at }
  if (id !== undefined) member.id = `${id}`
  if (region !== undefined) member.region = `${region}`
  for (const [name, value] of Object.entries({ weight, cost })) {
    if (value === undefined) continue
    if (value === '' || !(Number(value) >= 0)) problems.push(`${at}: ${name} takes a number from 0`)
    member[name] = Number(value)
  }
  if (tags !== undefined) member.tags = Array.isArray(tags) ? tags : `${tags}`.split(/[;,]/)
  return member as unknown as ListedMember
}

/**
 * Reads a list of members: lines, JSON or CSV, whichever it is. Each is what `make` makes of it; what that throws is told with the entry's place.
 *
 * @throws INVALID_OPTIONS that lists every bad entry by its place
 */
export function parseMemberList<M>(text: string, make: (member: ListedMember) => M): M[] {
  const problems: string[] = []
  // An address of IPv6 begins with a bracket, too.
  const entries = /^\s*(\{|\[(?![\da-f:]))/i.test(text) ? fromJson(text) : fromLines(text)
  const members: M[] = []
  for (const entry of entries) {
    const member = listed(entry, problems)
    try {
      members.push(make(member))
    } catch (error) {
      for (const problem of (error as { details?: string[] }).details ?? [(error as Error).message])
        problems.push(`${member.at}: ${problem}`)
    }
  }
  if (problems.length > 0) throw invalid(problems)
  return members
}
