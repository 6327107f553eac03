import { formatValue, throwIfInvalid } from '../options.js'
import type { Member } from '../pool/members/member.js'
import { suggest } from '../suggest.js'
import type { FetchTarget } from './target.js'

const KEYS = ['origin', 'fetch', 'dispatcher', 'headers'] as const
const KEY_LIST = KEYS.join(', ')

const isNonCallableObject = (value: unknown): value is object =>
  Object(value) === value && typeof value !== 'function'

/** Whether an object was written down as it is, so that each of its keys is meant for the fetch. */
function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

function isOrigin(value: unknown): boolean {
  if (!(typeof value === 'string' || value instanceof URL) || !URL.canParse(value)) return false
  const { protocol, username, password, search, hash } = new URL(value)
  return /^https?:$/.test(protocol) && `${username}${password}${search}${hash}` === ''
}

function areHeaders(value: unknown): boolean {
  try {
    const headers = isNonCallableObject(value) ? new Headers(value as RequestInit['headers']) : undefined
    return headers !== undefined
  } catch {
    return false
  }
}

type Rule = readonly [expected: string, fits: (value: unknown) => boolean]

const RULES: { readonly [K in keyof FetchTarget]-?: Rule } = {
  origin: [
    'an http or https origin with or without a path, without credentials, query and fragment',
    isOrigin,
  ],
  fetch: ['a function', (value) => typeof value === 'function'],
  dispatcher: ['an object', isNonCallableObject],
  headers: ['headers as fetch takes them', areHeaders],
}

/** The type of a value that may hold a secret. */
const describeType = (value: unknown): string =>
  isNonCallableObject(value) ? formatValue(value) : `a ${typeof value}`

/** What is wrong with the value of a member, a sentence for each problem. Headers are secrets, and are not shown. */
function findProblems({ id, value }: Member): string[] {
  const path = `pool.${id}`
  if (!isNonCallableObject(value))
    return [`${path}: expected an object with one of ${KEY_LIST}, got ${formatValue(value)}`]
  const problems: string[] = []
  if (isPlain(value)) {
    for (const [key, input] of Object.entries(value)) {
      const rule = Object.hasOwn(RULES, key) ? RULES[key as keyof FetchTarget] : undefined
      if (rule === undefined) {
        const close = suggest(key, KEYS)
        const hint = close === undefined ? '' : `; did you mean ${close}?`
        problems.push(`${path}.${key}: expected one of ${KEY_LIST}, got an unknown key${hint}`)
      } else if (input !== undefined && !rule[1](input))
        problems.push(
          `${path}.${key}: expected ${rule[0]}, got ${key === 'headers' ? describeType(input) : formatValue(input)}`,
        )
    }
  }
  // What a class makes when it is first read is not made to look at it.
  const has = (key: (typeof KEYS)[number]) =>
    key in value && (!isPlain(value) || (value as FetchTarget)[key] !== undefined)
  if (problems.length === 0 && !KEYS.some(has))
    problems.push(`${path}: expected one of ${KEY_LIST}, got none of them`)
  return problems
}

const validMembers = new WeakSet<object>()

/** What is wrong with the values of a pool's members as far as it tells who they are; those added later are checked in use. */
export function findPoolProblems(pool: unknown): string[] {
  const { members } = Object(pool) as { members?: unknown }
  if (typeof members !== 'function') return []
  const list: unknown = members.call(pool)
  return Array.isArray(list) ? list.flatMap((member: Member) => checkMember(member)) : []
}

function checkMember(member: Member): string[] {
  const { value } = member
  if (isNonCallableObject(value) && validMembers.has(value)) return []
  const problems = findProblems(member)
  if (problems.length === 0) validMembers.add(value as object)
  return problems
}

/** The value of a member that an attempt goes to. @throws INVALID_OPTIONS where a fetch cannot use it */
export function targetOf(member: Member | undefined): FetchTarget | undefined {
  if (member === undefined) return undefined
  throwIfInvalid('the attempt', checkMember(member))
  return member.value as FetchTarget
}
