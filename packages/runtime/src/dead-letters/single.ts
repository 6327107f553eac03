import { HoldfastError } from 'holdfast'
import type { Actor, Kit } from '../kit.js'
import type { DeadLetter } from '../records/dead-letter.js'
import type { Handlers, Replayer } from './handlers.js'
import type { Owners, Replays } from './replays.js'
import type { Trail } from './trail.js'
import type { Vault } from './vault.js'

/** DEAD_LETTER_NOT_FOUND. */
export const missing = (id: string): HoldfastError =>
  new HoldfastError(
    'DEAD_LETTER_NOT_FOUND',
    `there is no dead letter ${JSON.stringify(id)}; it may have been purged`,
    {
      status: 404,
    },
  )

interface Parts {
  readonly kit: Kit
  readonly handlers: Handlers
  readonly replays: Replays
  readonly owners: Owners
  readonly vault: Vault
  readonly trail: Trail
  /** Told that the entry was completed. */
  readonly completed: () => Promise<void>
}

/** Replays one entry, or notes the request where its handler is elsewhere. */
export async function replayOne(parts: Parts, id: string, actor: Actor | undefined): Promise<DeadLetter> {
  const { handlers, kit, replays } = parts
  const found = await kit.store.deadLetters.get(id, replays.now())
  if (found === undefined) throw missing(id)
  const replayer = await handlers.find(found.operationType)
  return replayer === undefined ? request(parts, found, actor) : serve(parts, found, replayer, actor)
}

async function serve(
  { completed, kit, owners, replays, trail, vault }: Parts,
  { dlqId, status: before }: DeadLetter,
  replayer: Replayer,
  actor: Actor | undefined,
): Promise<DeadLetter> {
  const owner = owners.next()
  const leased = await kit.store.deadLetters.lease(dlqId, owner, replays.leaseEnd(), replays.now())
  switch (leased.result) {
    case 'missing':
      throw missing(dlqId)
    case 'held':
      throw held(kit, dlqId, leased.until)
    case 'done':
      return vault.open(leased.entry)
    case 'leased': {
      const { end, entry, error } = await replays.serve(leased.entry, owner, replayer, false)
      if (end === 'put_back') throw error
      await trail.note(actor, 'dead_letter.replay', dlqId, { before, after: entry.status })
      if (end === 'completed') await completed()
      return entry
    }
  }
}

async function request(
  { kit, replays, trail, vault }: Parts,
  found: DeadLetter,
  actor: Actor | undefined,
): Promise<DeadLetter> {
  const { dlqId, leasedUntil, status: before } = found
  if (before === 'completed') return vault.show(found)
  if (before === 'replaying' && leasedUntil != null) throw held(kit, dlqId, leasedUntil)
  const requested = await kit.store.deadLetters.request(dlqId, replays.now())
  if (requested === undefined) throw missing(dlqId)
  await trail.note(actor, 'dead_letter.replay', dlqId, { before, after: 'requested' })
  return vault.show(requested)
}

function held(kit: Kit, id: string, until: Date): HoldfastError {
  const retryAfter = Math.max(0, until.getTime() - kit.clock.wall())
  return new HoldfastError(
    'DEAD_LETTER_LEASED',
    `${id} is being replayed; its lease ends at ${until.toISOString()}`,
    {
      retryAfter,
      status: 409,
    },
  )
}
