import { matcherProblems, parseDuration } from 'holdfast/internal'
import { z } from 'zod'
import { toSeconds } from '../../codec/leaf.js'
import { patternProblem } from '../../redact/patterns.js'
import { CURRENT_VERSION } from '../version.js'

/** What messages say of a place in the file besides its description. */
export interface Said {
  /** What it takes, in words. */
  readonly takes: string
  /** The same for an object in TypeScript, where that differs. */
  readonly inCode?: string
  /** What stands here is never shown. */
  readonly secret?: boolean
  /** Its form in the schema for editors, where that cannot be told from the check. */
  readonly json?: object
}

/** What is said of each schema. */
export const said = z.registry<Said>()

/** Notes what a schema takes. */
function takes<S extends z.ZodType>(schema: S, words: string, more: Omit<Said, 'takes'> = {}): S {
  said.add(schema as never, { takes: words, ...more })
  return schema
}

/** A key that must be there. */
export function described<S extends z.ZodType>(schema: S, description: string): S {
  z.globalRegistry.add(schema, { description })
  return schema
}

/** A key that may be left out. */
export const key = <S extends z.ZodType>(schema: S, description: string): z.ZodOptional<S> =>
  described(schema, description).optional() as z.ZodOptional<S>

/** A key that may be left out, or be null to say that there is none. */
export const maybe = <S extends z.ZodType>(schema: S, description: string) =>
  described(schema, description).nullish()

const FORMS = "'500ms', '30s', '5m', '24h', '30d'"
const PATTERN = /^\d+(\.\d+)?(ms|s|m|h|d)$/

/** The sum of a multiplication, without what floating point adds to it. */
const tidy = (ms: number): number => Math.round(ms * 1e3) / 1e3

const fromSeconds = (wire: number | string): number =>
  typeof wire === 'number' ? tidy(wire * 1000) : tidy(parseDuration(wire))

const words = (text: string) => [
  `${text}, in seconds or as ${FORMS}`,
  `${text}, in milliseconds or as ${FORMS}`,
]

const DURATION_JSON = {
  anyOf: [
    { type: 'number', minimum: 0 },
    { type: 'string', pattern: PATTERN.source },
  ],
}

/** Anything that is a number: zod's own has no Infinity. */
const numeric = () => z.custom<number>((value) => typeof value === 'number')

/** A duration of 0 or more. */
export const duration = () => {
  const [takesText = '', inCode = ''] = words('a duration of 0 or more')
  return takes(
    z.codec(z.union([z.number().min(0), z.string().regex(PATTERN)]), numeric(), {
      decode: fromSeconds,
      encode: toSeconds,
    }),
    takesText,
    { inCode, json: DURATION_JSON },
  )
}

const isAbove = (value: number | string): boolean => fromSeconds(value) > 0

/** A duration above 0. */
export const span = () => {
  const [takesText = '', inCode = ''] = words('a duration above 0')
  return takes(
    z.codec(z.union([z.number(), z.string().regex(PATTERN)]).refine(isAbove), numeric(), {
      decode: fromSeconds,
      encode: toSeconds,
    }),
    takesText,
    { inCode, json: DURATION_JSON },
  )
}

const DAY_MS = 86_400_000
const isNetworkTimeout = (value: number | string): boolean => isAbove(value) && fromSeconds(value) <= DAY_MS

/** A timeout of a network connection: above 0, at most a day, so that it fits every timer of the platform. */
export const networkTimeout = () => {
  const [takesText = '', inCode = ''] = words('a duration above 0, up to 24h')
  return takes(
    z.codec(z.union([z.number(), z.string().regex(PATTERN)]).refine(isNetworkTimeout), numeric(), {
      decode: fromSeconds,
      encode: toSeconds,
    }),
    takesText,
    { inCode, json: DURATION_JSON },
  )
}

const UNLIMITED = 'Infinity'
const endless = z.custom<number>((value) => value === Number.POSITIVE_INFINITY)

/** A deadline: a duration above 0, or Infinity for none. */
export const timeout = () => {
  const [takesText = '', inCode = ''] = words('a duration above 0, or Infinity for none')
  return takes(
    z.codec(
      z.union([
        z.number().refine(isAbove),
        z.string().regex(PATTERN).refine(isAbove),
        z.literal(UNLIMITED),
        endless,
      ]),
      numeric(),
      {
        decode: (wire) => (wire === UNLIMITED ? Number.POSITIVE_INFINITY : fromSeconds(wire)),
        encode: (ms) => (ms === Number.POSITIVE_INFINITY ? UNLIMITED : toSeconds(ms)),
      },
    ),
    takesText.replace('Infinity', '.inf (Infinity in JSON)'),
    { inCode, json: { anyOf: [...DURATION_JSON.anyOf, { const: UNLIMITED }] } },
  )
}

/** A whole number from 1, or Infinity. */
export const attempts = () =>
  takes(
    z.codec(z.union([z.int().min(1), z.literal(UNLIMITED), endless]), numeric(), {
      decode: (wire) => (wire === UNLIMITED ? Number.POSITIVE_INFINITY : wire),
      encode: (count) => (count === Number.POSITIVE_INFINITY ? UNLIMITED : count),
    }),
    'a whole number from 1, or .inf (Infinity in JSON)',
    {
      inCode: 'a whole number from 1, or Infinity',
      json: { anyOf: [{ type: 'integer', minimum: 1 }, { const: UNLIMITED }] },
    },
  )

export const flag = () => takes(z.boolean(), 'true or false')
export const count = () => takes(z.int().min(1), 'a whole number from 1')
export const natural = () => takes(z.int().min(0), 'a whole number from 0')
export const amount = () => takes(z.number().min(0), 'a number from 0')
export const factor = () => takes(z.number().min(1), 'a number from 1')
export const share = () => takes(z.number().min(0).max(1), 'a number from 0 to 1')
export const rate = () => takes(z.number().gt(0).max(1), 'a number above 0, up to 1')
export const port = () => takes(z.int().min(0).max(65_535), 'a port, 0 to 65535')
export const targetPort = () => takes(z.int().min(1).max(65_535), 'a port, 1 to 65535')
export const countUpTo = (most: number) => takes(z.int().min(1).max(most), `a whole number from 1 to ${most}`)
export const byteCount = (least: number, most: number) =>
  takes(z.int().min(least).max(most), `a whole number of bytes from ${least} to ${most}`)
export const text = () => takes(z.string(), 'a text')
export const word = () => takes(z.string().min(1), 'a text that is not empty')
export const shortWord = (most: number) =>
  takes(z.string().min(1).max(most), `a text of 1 to ${most} characters`)
export const secret = () => takes(z.string().min(1), 'a text that is not empty', { secret: true })

/** One secret, or several. */
export const secrets = () =>
  takes(
    z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
    'a text that is not empty, or a list of them',
    { secret: true },
  )

/** One of a few words. */
export const oneOf = <const T extends readonly [string, ...string[]]>(...options: T) =>
  takes(z.enum(options), `one of ${options.join(', ')}`)

/** One of the words of an enum. */
export const enumOf = <S extends z.ZodEnum>(schema: S): S =>
  takes(schema.clone() as S, `one of ${schema.options.join(', ')}`)

/** What `retryable_exceptions` and their like list. */
export const matcher = () =>
  takes(
    z.string().refine((name) => matcherProblems('', [name]).length === 0),
    "a name such as 'timeout', 'TimeoutError', 'ECONNRESET', 'sql:40' or 'grpc:ABORTED'",
  )

/** A status that another attempt may change. */
export const retryableStatus = () =>
  takes(
    z.int().refine((status) => [408, 425, 429].includes(status) || (status >= 500 && status <= 599)),
    '408, 425, 429 or a status from 500 to 599',
    { json: { type: 'integer', anyOf: [{ enum: [408, 425, 429] }, { minimum: 500, maximum: 599 }] } },
  )

export const httpStatus = () => takes(z.int().min(100).max(599), 'an HTTP status, 100 to 599')

/** A url of one of a few schemes. It may hold credentials, so it is never shown whole. */
export const url = (...schemes: string[]) =>
  takes(
    z
      .string()
      .refine((value) => URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1))),
    `a url that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    { secret: true },
  )

/** A regular expression that is not so slow that it could hang a process. */
export const pattern = () =>
  takes(
    z
      .string()
      .min(1)
      .refine((source) => patternProblem(source) === undefined),
    'a regular expression without nested repetition',
  )

/** Where a store lies. It may hold credentials, so it is never shown whole. */
export const storeUrl = () =>
  takes(
    z.string().refine((value) => /^(memory:?|(files|sqlite):.+|postgres(ql)?:\/\/.+)$/s.test(value)),
    'memory, files:DIR, sqlite:FILE or postgres://HOST/DATABASE',
    { secret: true },
  )

/** A version such as 1.2.0. */
export const version = () =>
  takes(z.string().regex(/^\d+\.\d+\.\d+$/), `a text such as "${CURRENT_VERSION}", in quotes`)

/** A list of what one schema describes. */
export const list = <S extends z.ZodType>(item: S) =>
  takes(
    z.array(item),
    said.get(item as never) ? `a list, each entry ${said.get(item as never)?.takes}` : 'a list',
  )
