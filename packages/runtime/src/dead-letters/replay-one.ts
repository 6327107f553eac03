import type { Actor, RuntimeContext } from '@holdfast/config'
import type { DeadLetter } from '@holdfast/records'
import { HoldfastError } from 'holdfast'
import type { BestEffortAudit } from './best-effort-audit.js'
import type { HandlerRegistry, ReplayFunction } from './handlers.js'
import type { PayloadCipher } from './payload-cipher.js'
import { isUnavailable, type LeaseOwnerIds, type ReplayExecutor } from './replay-executor.js'

/** Creates a DEAD_LETTER_NOT_FOUND error. */
export const createNotFoundError = (id: string): HoldfastError =>
  new HoldfastError(
    'DEAD_LETTER_NOT_FOUND',
    `dead letter ${JSON.stringify(id)} not found; it may have been purged`,
    {
      status: 404,
    },
  )

interface ReplayOneParts {
  readonly runtime: RuntimeContext
  readonly handlers: HandlerRegistry
  readonly replayExecutor: ReplayExecutor
  readonly leaseOwners: LeaseOwnerIds
  readonly payloadCipher: PayloadCipher
  readonly audit: BestEffortAudit
  /** Called when the entry was completed. */
  readonly onCompleted: () => Promise<void>
  /** Replays requested entries in this process. */
  readonly serveRequests: () => void
}

/** The options of a replay. */
export interface ReplayOptions {
  /**
   * While the operation is unavailable, because its breaker is open for example, the entry is not replayed but requested, and
   * replayed as soon as the operation is available. @defaultValue false: the rejection is a failed replay
   */
  waitForBreaker?: boolean | undefined
}

/** Replays one entry, or stores the request where its handler is in another process. */
export async function replayOne(
  parts: ReplayOneParts,
  id: string,
  actor: Actor | undefined,
  { waitForBreaker = false }: ReplayOptions = {},
): Promise<DeadLetter> {
  const { handlers, runtime, replayExecutor } = parts
  const found = await runtime.store.deadLetters.get(id, replayExecutor.now())
  if (found === undefined) throw createNotFoundError(id)
  const replayer = await handlers.find(found.operationType)
  return replayer === undefined
    ? requestReplay(parts, found, actor)
    : replayHere(parts, found, replayer, actor, waitForBreaker)
}

async function replayHere(
  parts: ReplayOneParts,
  found: DeadLetter,
  replayer: ReplayFunction,
  actor: Actor | undefined,
  waitForBreaker: boolean,
): Promise<DeadLetter> {
  const { onCompleted, runtime, leaseOwners, replayExecutor, audit, payloadCipher } = parts
  const { dlqId, status: before } = found
  // The lease of a handler that still runs can have ended, because the clock was set forward.
  if (before !== 'completed' && replayExecutor.running.has(dlqId))
    throw createLeasedError(runtime, dlqId, found.leasedUntil ?? replayExecutor.leaseEnd())
  const owner = leaseOwners.nextId()
  const leased = await runtime.store.deadLetters.lease(
    dlqId,
    owner,
    replayExecutor.leaseEnd(),
    replayExecutor.now(),
  )
  switch (leased.result) {
    case 'missing':
      throw createNotFoundError(dlqId)
    case 'held':
      throw createLeasedError(runtime, dlqId, leased.until)
    case 'done':
      return payloadCipher.decryptEntry(leased.entry)
    case 'leased': {
      const { end, entry, error } = await replayExecutor.executeAndRecord(
        leased.entry,
        owner,
        replayer,
        waitForBreaker,
      )
      if (end === 'put_back' && waitForBreaker && isUnavailable(error)) {
        const requested = await requestReplay(parts, entry, actor)
        parts.serveRequests()
        return requested
      }
      if (end === 'put_back') throw error
      await audit.record(actor, 'dead_letter.replay', dlqId, { before, after: entry.status })
      if (end === 'completed') await onCompleted()
      return entry
    }
  }
}

async function requestReplay(
  { runtime, replayExecutor, audit, payloadCipher }: ReplayOneParts,
  found: DeadLetter,
  actor: Actor | undefined,
): Promise<DeadLetter> {
  const { dlqId, leasedUntil, status: before } = found
  if (before === 'completed') return payloadCipher.decryptForList(found)
  if (before === 'replaying' && leasedUntil != null) throw createLeasedError(runtime, dlqId, leasedUntil)
  const requested = await runtime.store.deadLetters.request(dlqId, replayExecutor.now())
  if (requested === undefined) throw createNotFoundError(dlqId)
  await audit.record(actor, 'dead_letter.replay', dlqId, { before, after: 'requested' })
  return payloadCipher.decryptForList(requested)
}

/** Creates a DEAD_LETTER_LEASED error. */
export function createLeasedError(runtime: RuntimeContext, id: string, until: Date): HoldfastError {
  const retryAfter = Math.max(0, until.getTime() - runtime.clock.wall())
  return new HoldfastError(
    'DEAD_LETTER_LEASED',
    `${id} is being replayed; its lease ends at ${until.toISOString()}`,
    {
      retryAfter,
      status: 409,
    },
  )
}
