import { createProblem, formatValue, type OptionProblem, optionProblem, throwIfInvalid } from '../options.js'
import type { Member } from '../pool/members/member.js'
import { suggest } from '../suggest.js'
import type { FetchTarget } from './target.js'

const TARGET_KEYS = ['origin', 'fetch', 'dispatcher', 'headers'] as const
const KEY_LIST = TARGET_KEYS.join(', ')

const isNonCallableObject = (value: unknown): value is object =>
  Object(value) === value && typeof value !== 'function'

/** Whether an object is a literal, so that each of its keys is meant for the fetch. */
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

type TargetRule = readonly [expected: string, isValid: (value: unknown) => boolean]

const TARGET_RULES: { readonly [K in keyof FetchTarget]-?: TargetRule } = {
  origin: [
    'an http or https origin with or without a path, without credentials, query and fragment',
    isOrigin,
  ],
  fetch: ['a function', (value) => typeof value === 'function'],
  dispatcher: ['an object', isNonCallableObject],
  headers: ['headers as fetch takes them', areHeaders],
}

/** Describes a value that can contain a secret by its type. */
const describeType = (value: unknown): string =>
  isNonCallableObject(value) ? formatValue(value) : `a ${typeof value}`

/** The problems of the value of a member. Headers can contain secrets and are not shown. */
function findProblems({ id, value }: Member): OptionProblem[] {
  const path = `pool.${id}`
  if (!isNonCallableObject(value)) return [optionProblem(path, `an object with one of ${KEY_LIST}`, value)]
  const problems: OptionProblem[] = []
  if (isPlain(value)) {
    for (const [key, input] of Object.entries(value)) {
      const rule = Object.hasOwn(TARGET_RULES, key) ? TARGET_RULES[key as keyof FetchTarget] : undefined
      if (rule === undefined) {
        const close = suggest(key, TARGET_KEYS)
        const hint = close === undefined ? '' : `; did you mean ${close}?`
        problems.push(
          createProblem(`${path}.${key}`, 'unknown', `one of ${KEY_LIST}`, `an unknown key${hint}`),
        )
      } else if (input !== undefined && !rule[1](input))
        problems.push(
          createProblem(
            `${path}.${key}`,
            'invalid',
            rule[0],
            key === 'headers' ? describeType(input) : formatValue(input),
          ),
        )
    }
  }
  // A getter of a class is not called here, because it may create its value, such as an agent, when it is first read.
  const hasKey = (key: (typeof TARGET_KEYS)[number]) =>
    key in value && (!isPlain(value) || (value as FetchTarget)[key] !== undefined)
  if (problems.length === 0 && !TARGET_KEYS.some(hasKey))
    problems.push(createProblem(path, 'invalid', `one of ${KEY_LIST}`, 'none of them'))
  return problems
}

const validMembers = new WeakSet<object>()

/** The problems of the members of a pool that can list them; members that are added later are checked when they are used. */
export function findPoolProblems(pool: unknown): OptionProblem[] {
  const { members } = Object(pool) as { members?: unknown }
  if (typeof members !== 'function') return []
  const list: unknown = members.call(pool)
  return Array.isArray(list) ? list.flatMap((member: Member) => checkMember(member)) : []
}

function checkMember(member: Member): OptionProblem[] {
  const { value } = member
  if (isNonCallableObject(value) && validMembers.has(value)) return []
  const problems = findProblems(member)
  if (problems.length === 0) validMembers.add(value as object)
  return problems
}

/** The value of the member of an attempt. @throws INVALID_OPTIONS if a fetch cannot use it */
export function targetOf(member: Member | undefined): FetchTarget | undefined {
  if (member === undefined) return undefined
  throwIfInvalid('the attempt', checkMember(member))
  return member.value as FetchTarget
}
