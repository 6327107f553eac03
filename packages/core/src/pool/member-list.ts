import { HoldfastError } from '../errors.js'

/** A member that was parsed from a list. */
export interface ParsedMember {
  /** The URL of the member, including credentials. */
  readonly url: string
  /** The position of the entry in the text, such as `line 3`. */
  readonly location: string
  readonly id?: string
  readonly weight?: number
  readonly region?: string
  readonly cost?: number
  readonly tags?: readonly string[]
}

/** The error of an invalid list. It names each invalid entry by position, never by content, which can contain passwords. */
const createListError = (details: readonly string[]) =>
  new HoldfastError('INVALID_OPTIONS', `invalid list of proxies: ${details.join('; ')}`, { details })

type MemberFields = Record<string, string | number | readonly string[]>

/** The unvalidated fields of an entry, and its position. */
interface ListEntry {
  readonly location: string
  readonly fields: Readonly<MemberFields>
}

/** The fields of an entry, in every format. */
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

/** Splits a CSV line. A quoted value can contain commas and doubled quotes. */
function parseCsvLine(line: string): string[] {
  return [...`,${line}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
    ([, quoted, bare = '']) => quoted?.replaceAll('""', '"') ?? bare.trim(),
  )
}

/** `host:port:user:password`, a format of many proxy providers. */
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
    // The message of the JSON parser quotes its input, which can contain a password.
    throw createListError(['starts like JSON, but is not valid JSON'])
  }
  const { members, proxies = members } = Object(parsed) as { members?: unknown; proxies?: unknown }
  const all = Array.isArray(parsed) ? parsed : proxies
  if (!Array.isArray(all))
    throw createListError(['expected a JSON array, or an object with an array members or proxies'])
  return all.map((entry: unknown, i) => ({
    location: `entry ${i + 1}`,
    fields: typeof entry === 'string' ? parseLine(entry.trim()) : toFields(Object(entry) as object),
  }))
}

/** Converts a JSON object to fields. Null counts as absent; a value of another type becomes an unknown field. */
function toFields(input: object): MemberFields {
  const fields: MemberFields = {}
  for (const [name, value] of Object.entries(input) as [string, unknown][]) {
    if (typeof value === 'string' || typeof value === 'number') fields[name] = value
    else if (Array.isArray(value)) fields[name] = value.map((item) => `${item}`)
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
    if (!FIELD_NAMES.includes(name))
      problems.push(`${location}: unknown field, expected one of ${FIELD_NAMES.join(', ')}`)
  if (fields.url === undefined && fields.host === undefined)
    problems.push(`${location}: expected url, or host and port`)
  const member: Record<string, unknown> = { url: buildUrl(fields), location }
  if (id !== undefined) member.id = `${id}`
  if (region !== undefined) member.region = `${region}`
  for (const [name, value] of Object.entries({ weight, cost })) {
    if (value === undefined) continue
    if (value === '' || !(Number(value) >= 0))
      problems.push(`${location}: expected ${name} to be a number that is at least 0`)
    member[name] = Number(value)
  }
  if (tags !== undefined) member.tags = Array.isArray(tags) ? tags : `${tags}`.split(/[;,]/)
  return member as unknown as ParsedMember
}

/**
 * Parses a list of members in lines, JSON or CSV. Each member is created by `createMember`; an error that it throws is reported
 * with the position of the entry.
 *
 * @throws INVALID_OPTIONS that lists every invalid entry by its position
 */
export function parseMemberList<M>(text: string, createMember: (member: ParsedMember) => M): M[] {
  const problems: string[] = []
  // An IPv6 address also begins with a bracket.

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
