import { DAY_MS } from '@holdfast/records'
import { BREAKER_STATES } from 'holdfast/internal'
import { z } from 'zod'

/** The longest open duration that a breaker can have, and therefore the longest duration that a node can send. */
const MAX_DURATION_MS = 365 * DAY_MS

/** The longest message that a node can send. */
const MAX_TEXT_LENGTH = 65_536

const MAX_COUNT = 1e9
const MAX_NODES = 1e6

/** A duration of 0 or more, cut to the longest valid one. */
const duration = z
  .number()
  .min(0)
  .transform((ms) => Math.min(ms, MAX_DURATION_MS))

const count = z
  .number()
  .min(0)
  .transform((value) => Math.min(Math.floor(value), MAX_COUNT))

/** The id of a breaker contains the names of its pool and member, percent-encoded. */
const breakerId = z.string().min(1).max(4096)
const nodeId = z.string().max(512)
const name = z.string().min(1).max(2048)
const settingsText = z.string().max(4096)

/** An epoch is a time in tenths of a millisecond. It must be a safe integer, because others cannot be compared exactly. */
const epoch = z.int().min(0)

/** The state of a breaker in the fleet, as scripts return it and nodes publish it. */
const breakerStateSchema = z.object({
  id: breakerId,
  /** The node that changed the state. */
  node: nodeId,
  epoch,
  state: z.enum(BREAKER_STATES),
  /** Milliseconds that are left of the open duration, by the clock of Redis. */
  left: duration,
  /** Milliseconds since it opened, while it is not closed. */
  age: duration.optional(),
  openFor: duration,
  openings: count,
  failures: count,
  off: z.boolean(),
  /** The duration for which an operator tripped it; 0 or absent if its settings determine the open duration. */
  tripFor: duration.optional(),
  /** The time of Redis, in milliseconds since 1970. */
  now: z.number().min(0).max(8.64e15).optional(),
  /** Milliseconds until a probe permit can be requested again. */
  wait: duration.optional(),
  /** A probe permit, and milliseconds until it is valid. */
  token: z.string().min(1).max(64).optional(),
  early: duration.optional(),
  /** Whether the lease of the probe has expired. */
  gone: z.boolean().optional(),
  /** Whether a node whose calls are closer together was denied a permit. */
  wanted: z.boolean().optional(),
  /** The stored settings, and the node that stored them. */
  settings: settingsText.optional(),
  by: nodeId.optional(),
})
export type FleetBreakerState = z.output<typeof breakerStateSchema>

/** The settings of a node for a breaker. */
const settingsMessageSchema = z.object({
  settings: settingsText,
  of: breakerId,
  node: nodeId.min(1),
  /** Whether this is the answer to a node with other settings. An answer is not answered again. */
  answer: z.boolean().optional(),
})
export type SettingsMessage = z.output<typeof settingsMessageSchema>

/** The cooldown of a pool member: `left` milliseconds, or 0 if an operator ended it. */
const cooldownMessageSchema = z.object({ rest: name, member: name, left: duration, node: nodeId.min(1) })
export type CooldownMessage = z.output<typeof cooldownMessageSchema>

const askSchema = z.object({ ask: breakerId, round: z.string().regex(/^\d{1,16}$/), node: nodeId.min(1) })
const joinedSchema = z.object({ joined: z.literal(true), node: nodeId.min(1) })
const leftSchema = z.object({ left: z.literal(true), node: nodeId.min(1) })
const layerSchema = z.object({ layer: z.literal(true), node: nodeId.min(1) })

/**
 * The messages by the field that identifies them. The order matters, because fields are shared: a breaker state and a cooldown
 * have `left` too.
 */
const MESSAGES = [
  ['epoch', breakerStateSchema],
  ['ask', askSchema],
  ['settings', settingsMessageSchema],
  ['rest', cooldownMessageSchema],
  ['layer', layerSchema],
  ['joined', joinedSchema],
  ['left', leftSchema],
] as const

/** A message between nodes. */
export type FleetMessage = z.output<(typeof MESSAGES)[number][1]>

/** A parsed value, or the problem: the field and what was expected, without the value that was found. */
export type Parsed<T> = { readonly value: T } | { readonly problem: string }

const describeProblem = ({ issues }: z.ZodError): string => {
  const [issue] = issues
  return `${issue?.path.join('.') || 'message'}: ${issue?.message ?? 'not valid'}`
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

/** Parses a message of another node. It is not trusted, because every client of Redis can publish. */
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

/** Parses the reply of a breaker script. */
export function parseBreakerState(reply: unknown): Parsed<FleetBreakerState> {
  const json = parseJson(reply)
  return 'problem' in json ? json : parse(breakerStateSchema, json.value)
}

const heartbeatSchema = z.tuple([z.literal([0, 1]), z.int().min(0).max(MAX_NODES)]).rest(z.number())

/** Parses the reply to a heartbeat: whether this node was registered, and the number of live nodes. */
export const parseHeartbeat = (reply: unknown): Parsed<[known: number, live: number]> => {
  const parsed = parse(heartbeatSchema, reply)
  return 'problem' in parsed ? parsed : { value: [parsed.value[0], parsed.value[1]] }
}

const liveSchema = z.tuple([z.int().min(0).max(MAX_NODES), z.literal([0, 1])])

/** Parses the number of live nodes, and whether one node is among them. */
export const parseLive = (reply: unknown): Parsed<[live: number, known: number]> => parse(liveSchema, reply)

const nodeIdsSchema = z.array(nodeId).max(MAX_NODES)

export const parseNodeIds = (reply: unknown): Parsed<string[]> => parse(nodeIdsSchema, reply)

/** The maximum number of breaker states in the record of a node. */
export const MAX_OPINIONS = 1000

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
    .record(breakerId, z.enum(BREAKER_STATES))
    .refine((opinions) => Object.keys(opinions).length <= MAX_OPINIONS),
})

/** Parses the record of a node. It has no length limit of its own, because a node with many open breakers writes a long one. */
export function parseNodeRecord(text: unknown): Parsed<z.output<typeof nodeRecordSchema>> {
  if (typeof text !== 'string') return { problem: 'expected a text' }
  try {
    return parse(nodeRecordSchema, JSON.parse(text))
  } catch {
    return { problem: 'not valid JSON' }
  }
}

const cooldownsSchema = z.array(z.tuple([name, z.number().transform((ms) => Math.min(ms, MAX_DURATION_MS))]))

/** Parses the cooldowns of a pool: each member with the milliseconds that are left. */
export const parseCooldowns = (reply: unknown): Parsed<[member: string, left: number][]> =>
  parse(cooldownsSchema, reply)

const score = z.string().regex(/^\d+(\.\d+)?(e\+?\d+)?$/i)
const scoredSchema = z
  .array(z.string().max(4096))
  .refine(
    (items) =>
      items.length % 2 === 0 && items.every((item, i) => i % 2 === 0 || score.safeParse(item).success),
  )

/** Parses ids, each followed by its score. */
export function parseScored(reply: unknown): Parsed<[id: string, score: string][]> {
  const parsed = parse(scoredSchema, reply)
  if ('problem' in parsed) return parsed
  const { value } = parsed
  return {
    value: Array.from({ length: value.length / 2 }, (_, i) => [value[2 * i] ?? '', value[2 * i + 1] ?? '']),
  }
}

const loanSchema = z.tuple([z.int().min(0).max(MAX_COUNT), z.int().min(0).max(MAX_COUNT)])

/** Parses the retries that a budget lent, and those that it has left. */
export const parseLoan = (reply: unknown): Parsed<[lent: number, left: number]> => parse(loanSchema, reply)
