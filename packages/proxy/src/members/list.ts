import type { Member } from 'holdfast'
import { invalid } from '../errors.js'
import { type ProxyMemberOptions, proxyMember } from './member.js'
import type { ProxyUpstream } from './upstream.js'

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
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(
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
    told = JSON.parse(text)
  } catch {
    // The message of the parser repeats what it read, and that may be a password.
    throw invalid('a list of proxies cannot be read', ['it begins like JSON and is none'])
  }
  const { members, proxies = members } = Object(told) as { members?: unknown; proxies?: unknown }
  const all = Array.isArray(told) ? told : proxies
  if (!Array.isArray(all))
    throw invalid('a list of proxies cannot be read', [
      'got JSON without a list, takes an array, or an object with one under members',
    ])
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

function memberOf({ at, fields }: Entry, problems: string[]): Member<ProxyUpstream> | undefined {
  const { id, weight, region, cost, tags } = fields
  for (const name of Object.keys(fields))
    if (!FIELDS.includes(name)) problems.push(`${at}: the fields are ${FIELDS.join(', ')}`)
  if (fields.url === undefined && fields.host === undefined)
    problems.push(`${at}: takes url, or host and port`)
  const options: Record<string, unknown> = {}
  if (id !== undefined) options.id = `${id}`
  if (region !== undefined) options.region = `${region}`
  for (const [name, value] of Object.entries({ weight, cost })) {
    if (value === undefined) continue
    if (value === '' || !(Number(value) >= 0)) problems.push(`${at}: ${name} takes a number from 0`)
    options[name] = Number(value)
  }
  if (tags !== undefined) options.tags = Array.isArray(tags) ? tags : `${tags}`.split(/[;,]/)
  try {
    return proxyMember(urlOf(fields), options as ProxyMemberOptions)
  } catch (error) {
    for (const problem of (error as { details?: string[] }).details ?? [(error as Error).message])
      problems.push(`${at}: ${problem}`)
    return undefined
  }
}

/**
 * Reads a list of proxies: lines, JSON or CSV, whichever it is.
 *
 * - Lines: `http://user:password@host:port`, `host:port` or `host:port:user:password`, followed by any of `id=`, `weight=`,
 *   `region=`, `cost=`, `tags=a;b`; empty ones and those that begin with # say nothing.
 * - JSON: an array, or an object with one under `members`, of such strings or of objects with `url`, or with `protocol`,
 *   `host`, `port`, `username` and `password`.
 * - CSV: a first line that names those fields.
 *
 * An id that came before gets a number, since one host may be there with several users.
 *
 * @throws INVALID_OPTIONS that lists every bad entry by its place, never by what it says: there may be passwords in it
 *
 * @example
 * ```ts
 * import { parseProxyList } from '@holdfast/proxy'
 *
 * const members = parseProxyList(`
 *   # two of them
 *   http://u:secret@p1.example:8080 region=eu weight=2
 *   p2.example:3128:u:secret
 * `)
 * members.map(({ id, region }) => [id, region]) // => [['p1.example:8080', 'eu'], ['p2.example:3128', undefined]]
 * parseProxyList('[{ "host": "p3.example", "port": 1080, "protocol": "socks5" }]').length // => 1
 * parseProxyList('ftp://p4.example') // throws INVALID_OPTIONS
 * ```
 */
export function parseProxyList(text: string): Member<ProxyUpstream>[] {
  const problems: string[] = []
  const entries = /^\s*[[{]/.test(text) ? fromJson(text) : fromLines(text)
  const ids = new Map<string, number>()
  const members: Member<ProxyUpstream>[] = []
  for (const entry of entries) {
    const member = memberOf(entry, problems)
    if (member === undefined) continue
    const count = (ids.get(member.id) ?? 0) + 1
    ids.set(member.id, count)
    members.push(count === 1 ? member : { ...member, id: `${member.id}#${count}` })
  }
  if (problems.length > 0) throw invalid('a list of proxies cannot be read', problems)
  return members
}
