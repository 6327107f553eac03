import type { Actor, RuntimeContext } from '@holdfast/config'
import type { DeadLetter } from '@holdfast/records'
import { isSamePayload } from '@holdfast/store'
import { HoldfastError } from 'holdfast'
import type { BestEffortAudit } from './best-effort-audit.js'
import { replayPayloadOf } from './entry.js'
import { parsePayload } from './payload.js'
import type { PayloadCipher } from './payload-cipher.js'
import { createLeasedError, createNotFoundError } from './replay-one.js'

/** How many changed fields an audit record names. */
const MAX_NAMED_FIELDS = 20

/** How many characters of the name of a field an audit record contains. */
const MAX_NAME_LENGTH = 100

interface EditParts {
  readonly runtime: RuntimeContext
  readonly payloadCipher: PayloadCipher
  readonly audit: BestEffortAudit
  readonly maxPayload: number
  readonly now: Date
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The names of the fields that differ. Values are not recorded, because the audit log is not encrypted. */
function changedFields(before: unknown, after: unknown): string[] {
  if (!isObject(before) || !isObject(after)) return ['payload']
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((name) => !isSamePayload(before[name], after[name]))
    .slice(0, MAX_NAMED_FIELDS)
    .map((name) => (name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name))
}

/** Replaces the payload that replays use. The original payload stays; an edit that restores it removes the edited payload. */
export async function editPayload(
  { runtime, payloadCipher, audit, maxPayload, now }: EditParts,
  id: string,
  payload: unknown,
  actor: Actor | undefined,
): Promise<DeadLetter> {
  const { deadLetters } = runtime.store
  const stored = await deadLetters.get(id, now)
  if (stored === undefined) throw createNotFoundError(id)
  const edited = parsePayload(payload, stored.operationType, maxPayload)
  const before = payloadCipher.decryptEntry(stored)
  const isRestored = isSamePayload(before.originalPayload, edited)
  const result = await deadLetters.edit(
    id,
    isRestored ? null : payloadCipher.keyRing.encrypt(edited, stored.dlqId),
    now,
  )
  switch (result.result) {
    case 'missing':
      throw createNotFoundError(id)
    case 'held':
      throw createLeasedError(runtime, id, result.until)
    case 'done':
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `${id} is completed and is not replayed again: its payload cannot be edited`,
      )
    case 'edited': {
      const fields = changedFields(replayPayloadOf(before), edited)
      await audit.record(actor, 'dead_letter.edit', id, { after: { fields } })
      return payloadCipher.decryptForList(result.entry)
    }
  }
}
