import { z } from 'zod'

/** The longest open time that a breaker can be given, and so the longest duration that a node can mean. */
const MAX_DURATION_MS = 365 * 86_400_000

/** More than this in one message is not one of ours. */
const MAX_TEXT_LENGTH = 65_536

const MAX_COUNT = 1e9
const MAX_NODES = 1e6

/** A duration of 0 or more; one that is absurd is cut to the longest that makes sense. */
const duration = z
  .number()
  .min(0)
  .transform((ms) => Math.min(ms, MAX_DURATION_MS))

const count = z
  .number()
  .min(0)
  .transform((value) => Math.min(Math.floor(value), MAX_COUNT))

/** Ids of breakers hold names of pools and members, each percent-encoded. */
const breakerId = z.string().min(1).max(4096)
const nodeId = z.string().max(512)
const name = z.string().min(1).max(2048)
const settingsText = z.string().max(4096)

/** Epochs are times in tenths of a millisecond, and a number that is not exact cannot be compared. */
const epoch = z.int().min(0)

/** Where the fleet says that a breaker stands: what scripts answer, and what nodes publish. */
const breakerStateSchema = z.object({
  id: breakerId,
  /** Who brought it there. */
  node: nodeId,
  epoch,
  state: z.enum(['closed', 'open', 'half_open']),
  /** What is left of its open time, in milliseconds of the server. */
  left: duration,
  /** How long ago it opened, while it is not closed. */
  age: duration.optional(),
  openFor: duration,
  openings: count,
  failures: count,
  off: z.boolean(),
  /** The time of Redis, in milliseconds since 1970. */
  now: z.number().min(0).max(8.64e15).optional(),
  /** A test must wait so long. */
  wait: duration.optional(),
  /** The leave for a test, and how long until it holds. */
  token: z.string().min(1).max(64).optional(),
  early: duration.optional(),
  /** The lease is not there any more. */
  gone: z.boolean().optional(),
  /** The settings that were stored, and whose they are. */
  settings: settingsText.optional(),
  by: nodeId.optional(),
})
export type FleetBreakerState = z.output<typeof breakerStateSchema>

/** What the settings of a node for a breaker are. */
const settingsMessageSchema = z.object({
  settings: settingsText,
  of: breakerId,
  node: nodeId.min(1),
  /** It was said to one with other settings, and is not answered. */
  answer: z.boolean().optional(),
})
export type SettingsMessage = z.output<typeof settingsMessageSchema>

/** A member of a pool rests for so many milliseconds; 0 where its rest was ended by hand. */
const cooldownMessageSchema = z.object({ rest: name, member: name, left: duration, node: nodeId.min(1) })
export type CooldownMessage = z.output<typeof cooldownMessageSchema>

const askSchema = z.object({ ask: breakerId, round: z.string().regex(/^\d{1,16}$/), node: nodeId.min(1) })
const joinedSchema = z.object({ joined: z.literal(true), node: nodeId.min(1) })
const leftSchema = z.object({ left: z.literal(true), node: nodeId.min(1) })
const layerSchema = z.object({ layer: z.literal(true), node: nodeId.min(1) })

/** The messages by the field that no other has. The order matters where fields are shared: a view and a rest have `left` too. */
const MESSAGES = [
  ['epoch', breakerStateSchema],
  ['ask', askSchema],
  ['settings', settingsMessageSchema],
  ['rest', cooldownMessageSchema],
  ['layer', layerSchema],
  ['joined', joinedSchema],
  ['left', leftSchema],
] as const

/** All that nodes tell each other. */
export type FleetMessage = z.output<(typeof MESSAGES)[number][1]>

/** What was read, or why it is none of ours: the field and what it takes, and nothing of what it held. */
export type Parsed<T> = { readonly value: T } | { readonly problem: string }

const describeProblem = ({ issues }: z.ZodError): string => {
  const [issue] = issues
  return `${issue?.path.join('.') || 'the whole'}: ${issue?.message ?? 'not valid'}`
}

function parse<T>(schema: z.ZodType<T>, value: unknown): Parsed<T> {
  const result = schema.safeParse(value)
  return result.success ? { value: result.data } : { problem: describeProblem(result.error) }
}

function parseJson(text: unknown): Parsed<unknown> {
  if (typeof text !== 'string') return { problem: 'expected a text' }
  if (text.length > MAX_TEXT_LENGTH) return { problem: `expected at most ${MAX_TEXT_LENGTH} characters` }
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { problem: 'not valid JSON' }
  }
}

/** A message of another node. Nothing in it is to be trusted: whoever reaches Redis can publish. */
export function parseMessage(text: unknown): Parsed<FleetMessage> {
  const json = parseJson(text)
  if ('problem' in json) return json
  const message = json.value
  if (typeof message !== 'object' || message === null) return { problem: 'expected an object' }
  const found = MESSAGES.find(([field]) => Object.hasOwn(message, field))
  return found === undefined
    ? { problem: 'expected a message that this release knows' }
    : parse<FleetMessage>(found[1] as z.ZodType<FleetMessage>, message)
}

/** What a script of a breaker answers. */
export function parseBreakerState(reply: unknown): Parsed<FleetBreakerState> {
  const json = parseJson(reply)
  return 'problem' in json ? json : parse(breakerStateSchema, json.value)
}

const heartbeatSchema = z.tuple([z.literal([0, 1]), z.int().min(0).max(MAX_NODES)]).rest(z.number())

/** The answer to a heartbeat: whether this node was known, and how many live. */
export const parseHeartbeat = (reply: unknown): Parsed<[known: number, live: number]> => {
  const parsed = parse(heartbeatSchema, reply)
  return 'problem' in parsed ? parsed : { value: [parsed.value[0], parsed.value[1]] }
}

const liveSchema = z.tuple([z.int().min(0).max(MAX_NODES), z.literal([0, 1])])

/** How many nodes live, and whether one is among them. */
export const parseLive = (reply: unknown): Parsed<[live: number, known: number]> => parse(liveSchema, reply)

const nodeIdsSchema = z.array(nodeId).max(MAX_NODES)

export const parseNodeIds = (reply: unknown): Parsed<string[]> => parse(nodeIdsSchema, reply)

const OPINIONS = ['closed', 'open', 'half_open'] as const
const MAX_OPINIONS = 1000

const instant = z
  .string()
  .max(64)
  .transform((text) => new Date(text))
  .refine((date) => !Number.isNaN(date.getTime()))

const nodeRecordSchema = z.object({
  version: z.string().max(64),
  startedAt: instant,
  lastSeen: instant,
  opinions: z
    .record(breakerId, z.enum(OPINIONS))
    .refine((opinions) => Object.keys(opinions).length <= MAX_OPINIONS),
})

/** What a node says of itself. Those with very many open breakers write long ones. */
export function parseNodeRecord(text: unknown): Parsed<z.output<typeof nodeRecordSchema>> {
  if (typeof text !== 'string') return { problem: 'expected a text' }
  try {
    return parse(nodeRecordSchema, JSON.parse(text))
  } catch {
    return { problem: 'not valid JSON' }
  }
}

const cooldownsSchema = z.array(z.tuple([name, z.number().transform((ms) => Math.min(ms, MAX_DURATION_MS))]))

/** The members of a pool that rest, and for how long. */
export const parseCooldowns = (reply: unknown): Parsed<[member: string, left: number][]> =>
  parse(cooldownsSchema, reply)

const score = z.string().regex(/^\d+(\.\d+)?(e\+?\d+)?$/i)
const scoredSchema = z
  .array(z.string().max(4096))
  .refine(
    (items) =>
      items.length % 2 === 0 && items.every((item, i) => i % 2 === 0 || score.safeParse(item).success),
  )

/** Ids, each with its score. */
export function parseScored(reply: unknown): Parsed<[id: string, score: string][]> {
  const parsed = parse(scoredSchema, reply)
  if ('problem' in parsed) return parsed
  const { value } = parsed
  return {
    value: Array.from({ length: value.length / 2 }, (_, i) => [value[2 * i] ?? '', value[2 * i + 1] ?? '']),
  }
}

const loanSchema = z.tuple([z.int().min(0).max(MAX_COUNT), z.int().min(0).max(MAX_COUNT)])

/** What a budget lends, and what it has left. */
export const parseLoan = (reply: unknown): Parsed<[lent: number, rest: number]> => parse(loanSchema, reply)
