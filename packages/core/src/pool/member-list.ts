import { HoldfastError } from '../errors.js'

/** A member of a list: where it is, and what else was said of it. */
export interface ParsedMember {
  /** Its url, credentials included. */
  readonly url: string
  /** Its place in the text, in words. */
  readonly location: string
  readonly id?: string
  readonly weight?: number
  readonly region?: string
  readonly cost?: number
  readonly tags?: readonly string[]
}

/** A list that cannot be read: every bad entry by its place, never by what it says, for there may be passwords in it. */
const createListError = (details: readonly string[]) =>
  new HoldfastError('INVALID_OPTIONS', `a list of proxies cannot be read: ${details.join('; ')}`, { details })

type MemberFields = Record<string, string | number | readonly string[]>

/** An entry as it was found, with the words that tell where. */
interface ListEntry {
  readonly location: string
  readonly fields: Readonly<MemberFields>
}

/** What an entry may say, in any of the forms. */
const FIELD_NAMES = [
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
function parseCsvLine(line: string): string[] {
  return [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, bare = '']) => quoted?.replaceAll('""', '"') ?? bare.trim(),
  )
}

/** `host:port:user:password`, as many sellers of proxies write it. */
const HOST_PORT_USER_PASSWORD = /^([\w.-]+):(\d+):([^:\s]+):(\S+)$/

function parseLine(line: string): MemberFields {
  const [address = '', ...words] = line.split(/\s+/)
  const fields: MemberFields = {}
  for (const word of words) {
    const equals = word.indexOf('=')
    fields[equals < 0 ? 'nothing' : word.slice(0, equals)] = word.slice(equals + 1)
  }
  const [, host, port = '', username = '', password = ''] = HOST_PORT_USER_PASSWORD.exec(address) ?? []
  if (host !== undefined) return { ...fields, host, port, username, password }
  return { ...fields, url: address.includes('://') ? address : `http://${address}` }
}

function parseLines(text: string): ListEntry[] {
  const lines = text.split(/\r?\n/).map((line, i) => ({ location: `line ${i + 1}`, text: line.trim() }))
  const contentLines = lines.filter((line) => line.text !== '' && !line.text.startsWith('#'))
  const columns = parseCsvLine(contentLines[0]?.text ?? '').map((name) => name.toLowerCase())
  const isCsv = columns.includes('url') || columns.includes('host')
  if (!isCsv) return contentLines.map((line) => ({ location: line.location, fields: parseLine(line.text) }))
  return contentLines.slice(1).map((line) => {
    const values = parseCsvLine(line.text)
    const pairs = columns.map((name, i) => [name, values[i] ?? ''] as const)
    return { location: line.location, fields: Object.fromEntries(pairs.filter(([, value]) => value !== '')) }
  })
}

function parseJson(text: string): ListEntry[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(text.trim())
  } catch {
    // The message of the parser repeats what it read, and that may be a password.
    throw createListError(['it begins like JSON and is none'])
  }
  const { members, proxies = members } = Object(parsed) as { members?: unknown; proxies?: unknown }
  const all = Array.isArray(parsed) ? parsed : proxies
  if (!Array.isArray(all))
    throw createListError(['got JSON without a list, takes an array, or an object with one under members'])
  return all.map((entry: unknown, i) => ({
    location: `entry ${i + 1}`,
    fields: typeof entry === 'string' ? parseLine(entry.trim()) : toFields(Object(entry) as object),
  }))
}

/** What can be a field's value. Null says nothing; anything else is shown as what it is not. */
function toFields(input: object): MemberFields {
  const fields: MemberFields = {}
  for (const [name, value] of Object.entries(input) as [string, unknown][]) {
    if (typeof value === 'string' || typeof value === 'number') fields[name] = value
    else if (Array.isArray(value)) fields[name] = value.map((one) => `${one}`)
    else if (value !== null) fields[`${name} of another type`] = ''
  }
  return fields
}

function buildUrl(fields: ListEntry['fields']): string {
  const { url, protocol = 'http', host, port, username, password } = fields
  if (url !== undefined) return `${url}`
  const scheme = `${protocol}`.replace(/:?(\/\/)?$/, '')
  const encodedCredentials = [username, password].map((part) => encodeURIComponent(`${part ?? ''}`))
  const user = username === undefined ? '' : `${encodedCredentials.join(':')}@`
  return `${scheme}://${user}${host}${port === undefined ? '' : `:${port}`}`
}

function toMember({ location, fields }: ListEntry, problems: string[]): ParsedMember {
  const { id, weight, region, cost, tags } = fields
  for (const name of Object.keys(fields))
    if (!FIELD_NAMES.includes(name)) problems.push(`${location}: the fields are ${FIELD_NAMES.join(', ')}`)
  if (fields.url === undefined && fields.host === undefined)
    problems.push(`${location}: takes url, or host and port`)
  const member: Record<string, unknown> = { url: buildUrl(fields), location }
  if (id !== undefined) member.id = `${id}`
  if (region !== undefined) member.region = `${region}`
  for (const [name, value] of Object.entries({ weight, cost })) {
    if (value === undefined) continue
    if (value === '' || !(Number(value) >= 0)) problems.push(`${location}: ${name} takes a number from 0`)
    member[name] = Number(value)
  }
  if (tags !== undefined) member.tags = Array.isArray(tags) ? tags : `${tags}`.split(/[;,]/)
  return member as unknown as ParsedMember
}

/**
 * Reads a list of members: lines, JSON or CSV, whichever it is. Each is what `createMember` makes of it; what that throws is told with the entry's place.
 *
 * @throws INVALID_OPTIONS that lists every bad entry by its place
 */
export function parseMemberList<M>(text: string, createMember: (member: ParsedMember) => M): M[] {
  const problems: string[] = []
  // An address of IPv6 begins with a bracket, too.
  const entries = /^\s*(\{|\[(?![\da-f:]))/i.test(text) ? parseJson(text) : parseLines(text)
  const members: M[] = []
  for (const entry of entries) {
    const member = toMember(entry, problems)
    try {
      members.push(createMember(member))
    } catch (error) {
      for (const problem of (error as { details?: string[] }).details ?? [(error as Error).message])
        problems.push(`${member.location}: ${problem}`)
    }
  }
  if (problems.length > 0) throw createListError(problems)
  return members
}
