import { DAY_MS, patternProblem, toSeconds } from '@holdfast/records'
import { parseStoreUrl, STORE_URL_FORMAT } from '@holdfast/store'
import {
  DURATION_PATTERN,
  isRetryableStatus,
  matcherProblems,
  parseDuration,
  RETRYABLE_CLIENT_STATUSES,
  RETRYABLE_STATUS,
} from 'holdfast/internal'
import { z } from 'zod'
import { CURRENT_VERSION } from '../version.js'

/** Information about a field for messages, besides its description. */
export interface FieldInfo {
  /** The expected value, in words. */
  readonly expected: string
  /** The same for a TypeScript object, where it differs. */
  readonly expectedInCode?: string
  /** Whether the value must never be shown. */
  readonly isSecret?: boolean
  /**
   * What can be shown of a secret that is a url: `origin`, or also its path and the names of its parameters. A `database` can
   * be a path. Nothing is shown of other secrets.
   */
  readonly shownUrlParts?: 'address' | 'origin' | 'database'
  /** The unit of the value, as a sentence for the description. */
  readonly unit?: string
  /** The JSON Schema of the field, where it cannot be derived from the check. */
  readonly jsonSchema?: object
}

/** The information about each schema. */
export const fieldInfo = z.registry<FieldInfo>()

/** Adds information to a schema. */
function withInfo<S extends z.ZodType>(
  schema: S,
  expected: string,
  more: Omit<FieldInfo, 'expected'> = {},
): S {
  fieldInfo.add(schema as never, { expected: expected, ...more })
  return schema
}

/** Registers the description of a key: its meaning, the unit of its value and its default, each a sentence. */
function describeKey<S extends z.ZodType>(schema: S, meaning: string, defaultSentence?: string): S {
  const sentences = [meaning, fieldInfo.get(schema as never)?.unit, defaultSentence]
  z.globalRegistry.add(schema, { description: sentences.filter(Boolean).join(' ') })
  return schema
}

/** A required key. */
export const requiredKey = <S extends z.ZodType>(schema: S, meaning: string): S =>
  describeKey(schema, meaning)

/** An optional key with its default value, if there is one; that of a duration is in milliseconds. */
export const optionalKey = <S extends z.ZodType>(
  schema: S,
  meaning: string,
  defaultValue?: unknown,
): z.ZodOptional<S> =>
  describeKey(
    schema,
    meaning,
    defaultValue === undefined ? undefined : `Default ${formatDefault(schema, defaultValue)}.`,
  ).optional() as z.ZodOptional<S>

/** An optional key whose absence is described in words. */
export const absentKey = <S extends z.ZodType>(
  schema: S,
  meaning: string,
  absent: string,
): z.ZodOptional<S> => describeKey(schema, meaning, `Default: ${absent}.`).optional() as z.ZodOptional<S>

/** An optional key that can also be null, which means that there is no value. */
export const nullableKey = <S extends z.ZodType>(schema: S, meaning: string, absent?: string) =>
  describeKey(schema, meaning, absent && `Default: ${absent}.`).nullish()

const formatDefault = (schema: z.ZodType, value: unknown): string =>
  fieldInfo.get(schema as never)?.unit === DURATION_UNIT ? formatDuration(value as number) : String(value)

const TIME_UNITS = [
  ['day', 86_400_000],
  ['second', 1000],
] as const

/** Formats a duration for people: `30 days`, `1 second`, `0.5 seconds`. */
function formatDuration(ms: number): string {
  const [name, size] = TIME_UNITS.find(([, unit]) => ms >= unit) ?? (['second', 1000] as const)
  const count = ms / size
  return `${count} ${name}${count === 1 ? '' : 's'}`
}

const DURATION_UNIT = "In seconds, or a text such as '500ms'."
const DURATION_EXAMPLES = "'500ms', '30s', '5m', '24h', '30d'"

/** Rounds away the floating-point error of a multiplication. */
const roundMs = (ms: number): number => Math.round(ms * 1e3) / 1e3

const fromSeconds = (wire: number | string): number =>
  typeof wire === 'number' ? roundMs(wire * 1000) : roundMs(parseDuration(wire))

const durationWords = (text: string) => [
  `${text}, in seconds or as ${DURATION_EXAMPLES}`,
  `${text}, in milliseconds or as ${DURATION_EXAMPLES}`,
]

const DURATION_JSON = {
  anyOf: [
    { type: 'number', minimum: 0 },
    { type: 'string', pattern: DURATION_PATTERN.source },
  ],
}

/** Any number, including Infinity, which zod's own number rejects. */
const anyNumber = () => z.custom<number>((value) => typeof value === 'number')

/** A duration of 0 or more. */
export const duration = () => {
  const [takesText = '', inCode = ''] = durationWords('a duration of 0 or more')
  return withInfo(
    z.codec(z.union([z.number().min(0), z.string().regex(DURATION_PATTERN)]), anyNumber(), {
      decode: fromSeconds,
      encode: toSeconds,
    }),
    takesText,
    { expectedInCode: inCode, jsonSchema: DURATION_JSON, unit: DURATION_UNIT },
  )
}

const isPositive = (value: number | string): boolean => fromSeconds(value) > 0

/** A duration above 0. */
export const positiveDuration = () => {
  const [takesText = '', inCode = ''] = durationWords('a duration above 0')
  return withInfo(
    z.codec(z.union([z.number(), z.string().regex(DURATION_PATTERN)]).refine(isPositive), anyNumber(), {
      decode: fromSeconds,
      encode: toSeconds,
    }),
    takesText,
    { expectedInCode: inCode, jsonSchema: DURATION_JSON, unit: DURATION_UNIT },
  )
}

const isNetworkTimeout = (value: number | string): boolean =>
  isPositive(value) && fromSeconds(value) <= DAY_MS

/** A timeout of a network connection: above 0 and at most a day, so that it fits every timer of the platform. */
export const networkTimeout = () => {
  const [takesText = '', inCode = ''] = durationWords('a duration above 0, up to 24h')
  return withInfo(
    z.codec(z.union([z.number(), z.string().regex(DURATION_PATTERN)]).refine(isNetworkTimeout), anyNumber(), {
      decode: fromSeconds,
      encode: toSeconds,
    }),
    takesText,
    { expectedInCode: inCode, jsonSchema: DURATION_JSON, unit: DURATION_UNIT },
  )
}

const INFINITY_WORD = 'Infinity'
const infinity = z.custom<number>((value) => value === Number.POSITIVE_INFINITY)

/** A deadline: a duration above 0, or Infinity for none. */
export const timeoutDuration = () => {
  const [takesText = '', inCode = ''] = durationWords('a duration above 0, or Infinity for none')
  return withInfo(
    z.codec(
      z.union([
        z.number().refine(isPositive),
        z.string().regex(DURATION_PATTERN).refine(isPositive),
        z.literal(INFINITY_WORD),
        infinity,
      ]),
      anyNumber(),
      {
        decode: (wire) => (wire === INFINITY_WORD ? Number.POSITIVE_INFINITY : fromSeconds(wire)),
        encode: (ms) => (ms === Number.POSITIVE_INFINITY ? INFINITY_WORD : toSeconds(ms)),
      },
    ),
    takesText.replace('Infinity', '.inf (Infinity in JSON)'),
    {
      expectedInCode: inCode,
      jsonSchema: { anyOf: [...DURATION_JSON.anyOf, { const: INFINITY_WORD }] },
      unit: DURATION_UNIT,
    },
  )
}

/** A whole number from 1, or Infinity. */
export const attemptCount = () =>
  withInfo(
    z.codec(z.union([z.int().min(1), z.literal(INFINITY_WORD), infinity]), anyNumber(), {
      decode: (wire) => (wire === INFINITY_WORD ? Number.POSITIVE_INFINITY : wire),
      encode: (count) => (count === Number.POSITIVE_INFINITY ? INFINITY_WORD : count),
    }),
    'a whole number from 1, or .inf (Infinity in JSON)',
    {
      expectedInCode: 'a whole number from 1, or Infinity',
      jsonSchema: { anyOf: [{ type: 'integer', minimum: 1 }, { const: INFINITY_WORD }] },
    },
  )

export const booleanValue = () => withInfo(z.boolean(), 'true or false')
export const positiveInteger = () => withInfo(z.int().min(1), 'a whole number from 1')
export const nonNegativeInteger = () => withInfo(z.int().min(0), 'a whole number from 0')
export const nonNegativeNumber = () => withInfo(z.number().min(0), 'a number from 0')
export const atLeastOne = () => withInfo(z.number().min(1), 'a number from 1')
export const fraction = () => withInfo(z.number().min(0).max(1), 'a number from 0 to 1')
export const positiveFraction = () => withInfo(z.number().gt(0).max(1), 'a number above 0, up to 1')
export const portNumber = () => withInfo(z.int().min(0).max(65_535), 'a port, 0 to 65535')
export const targetPort = () => withInfo(z.int().min(1).max(65_535), 'a port, 1 to 65535')
export const countUpTo = (most: number) =>
  withInfo(z.int().min(1).max(most), `a whole number from 1 to ${most}`)
export const byteCount = (least: number, most: number) =>
  withInfo(z.int().min(least).max(most), `a whole number of bytes from ${least} to ${most}`)
export const anyString = () => withInfo(z.string(), 'a text')
export const nonEmptyString = () => withInfo(z.string().min(1), 'a text that is not empty')
export const shortWord = (most: number) =>
  withInfo(z.string().min(1).max(most), `a text of 1 to ${most} characters`)
export const secretString = () => withInfo(z.string().min(1), 'a text that is not empty', { isSecret: true })

/** One secret, or several. */
export const secretStrings = () =>
  withInfo(
    z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]),
    'a text that is not empty, or a list of them',
    { isSecret: true },
  )

/** One of several strings. */
export const oneOf = <const T extends readonly [string, ...string[]]>(...options: T) =>
  withInfo(z.enum(options), `one of ${options.join(', ')}`)

/** One of the values of an enum. */
export const enumOf = <S extends z.ZodEnum>(schema: S): S =>
  withInfo(schema.clone() as S, `one of ${schema.options.join(', ')}`)

/** An entry of `retryable_exceptions` and similar lists. */
export const matcherName = () =>
  withInfo(
    z.string().refine((name) => matcherProblems('', [name]).length === 0),
    "a name such as 'timeout', 'TimeoutError', 'ECONNRESET', 'sql:40' or 'grpc:ABORTED'",
  )

/** A status code that can be retried. */
export const retryableStatus = () =>
  withInfo(z.int().refine(isRetryableStatus), RETRYABLE_STATUS, {
    jsonSchema: {
      type: 'integer',
      anyOf: [{ enum: [...RETRYABLE_CLIENT_STATUSES] }, { minimum: 500, maximum: 599 }],
    },
  })

export const httpStatus = () => withInfo(z.int().min(100).max(599), 'an HTTP status, 100 to 599')

const secretUrl = (schemes: readonly string[], shownUrlParts: 'address' | 'origin') =>
  withInfo(
    z
      .string()
      .refine((value) => URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1))),
    `a url that begins with ${schemes.map((scheme) => `${scheme}://`).join(' or ')}`,
    { isSecret: true, shownUrlParts },
  )

/** A url with one of several schemes. It may contain credentials, so it is never shown completely. */
export const urlWithScheme = (...schemes: string[]) => secretUrl(schemes, 'address')

/** The url of a webhook, whose path often is the secret. */
export const webhookUrl = () => secretUrl(['http', 'https'], 'origin')

/** A regular expression that cannot cause excessive backtracking. */
export const safePattern = () =>
  withInfo(
    z
      .string()
      .min(1)
      .refine((source) => patternProblem('', source) === undefined),
    'a regular expression that needs few steps',
  )

/** The url of a store. It may contain credentials, so it is never shown completely. */
export const storeUrl = () =>
  withInfo(
    z.string().refine((value) => !('problem' in parseStoreUrl(value))),
    STORE_URL_FORMAT,
    { isSecret: true, shownUrlParts: 'database' },
  )

/** A version such as 1.2.0. */
export const versionString = () =>
  withInfo(z.string().regex(/^\d+\.\d+\.\d+$/), `a text such as "${CURRENT_VERSION}", in quotes`)

/** A list of values of one schema. */
export const listOf = <S extends z.ZodType>(item: S) =>
  withInfo(
    z.array(item),
    fieldInfo.get(item as never) ? `a list, each entry ${fieldInfo.get(item as never)?.expected}` : 'a list',
  )
