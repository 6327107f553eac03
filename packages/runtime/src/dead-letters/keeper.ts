import { classify, HoldfastError, isHoldfastError } from 'holdfast'
import { type Check, check, natural, text, words } from '../check.js'
import { chance } from '../ids.js'
import type { Kit } from '../kit.js'
import type { DeadLetter } from '../records/dead-letter.js'
import { messageOf, summarize } from '../records/summary.js'
import { samePayload } from '../store/payload.js'
import { type DeadLetterInput, newEntry } from './entry.js'
import { deadLetterId } from './id.js'
import { Intake } from './intake.js'
import type { Limits } from './limits.js'
import { type DeadLetterOptions } from './options.js'
import { readPayload } from './payload.js'
import type { Vault } from './vault.js'

/** A call with a payload that ended in failure. */
export interface FailedCall extends Omit<DeadLetterInput, 'itemId'> {
  itemId?: string | undefined
  /** What the failure was taken for. @defaultValue what `classify` takes it for */
  kind?: string | undefined
}

const REFUSED = 'a dead letter cannot be kept'
const NEEDED = { operation: text, itemId: text }
const ALLOWED = {
  retryCount: natural,
  idempotencyKey: words,
  policyId: words,
  sessionId: words,
  correlationId: words,
}
/** Looked at more closely, or taken as it is. */
const any: Check = ['anything', () => true]
const GIVEN = { ...ALLOWED, payload: any, error: any }

/** A text that says something. */
const said = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Brings failed calls into the queue. */
export class Keeper {
  private count = 0
  /** The entries of payloads that were captured, for whoever holds the payload. */
  private readonly captured = new WeakMap<object, string>()
  private readonly kit: Kit
  private readonly options: () => DeadLetterOptions
  private readonly vault: Vault
  private readonly limits: Limits
  private readonly policyOf: (operation: string) => string
  private readonly intake: Intake

  constructor(
    kit: Kit,
    options: () => DeadLetterOptions,
    vault: Vault,
    limits: Limits,
    policyOf: (operation: string) => string,
  ) {
    this.kit = kit
    this.options = options
    this.vault = vault
    this.limits = limits
    this.policyOf = policyOf
    kit.store.deadLetters.compareWith?.((a, b) =>
      samePayload(vault.open(a).originalPayload, vault.open(b).originalPayload),
    )
    this.intake = new Intake(kit.store.deadLetters, () => options().maxEntries)
  }

  async enqueue(input: DeadLetterInput): Promise<DeadLetter> {
    if (!this.options().enabled)
      throw new HoldfastError('INVALID_OPTIONS', 'dead letters are switched off by dead_letters.enabled')
    check(REFUSED, input, NEEDED, GIVEN)
    const entry = await this.keep(input)
    return { ...entry, originalPayload: structuredClone(entry.originalPayload) }
  }

  /** Keeps a failed call. Never rejects: what cannot be kept is an event and a line, because the caller has an error already. */
  async capture(call: FailedCall): Promise<DeadLetter | undefined> {
    try {
      const { enabled, skipKinds } = this.options()
      if (!enabled || skipKinds.includes(call.kind ?? classify(call.error).kind)) return undefined
      const itemId = said(call.itemId) ?? said(call.correlationId) ?? call.operation
      const entry = await this.keep({ ...call, itemId })
      if (Object(call.payload) === call.payload) this.captured.set(call.payload as object, entry.dlqId)
      return entry
    } catch (error) {
      this.report(call, error)
      return undefined
    }
  }

  /** The entry that a payload, this very object, was captured in. */
  idOf(payload: object): string | undefined {
    return this.captured.get(payload)
  }

  private async keep(input: DeadLetterInput): Promise<DeadLetter> {
    const { operation, itemId } = input
    // Whatever else is said of a call that failed is no reason to lose it.
    check(REFUSED, { operation, itemId }, NEEDED)
    const { maxPayload, operations } = this.options()
    if (operations !== undefined && !operations.includes(operation))
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `operation: got ${JSON.stringify(operation)}, and dead_letters.operations lists ${operations.join(', ') || 'none'}`,
      )
    const payload = readPayload(input.payload, operation, maxPayload)
    const at = new Date(this.kit.clock.wall())
    const id = deadLetterId(at, itemId, this.unique())
    const made = { id, key: said(input.idempotencyKey) ?? `idk_${this.unique()}`, at, payload }
    const ids = {
      policyId: said(input.policyId) ?? this.policyOf(operation),
      sessionId: said(input.sessionId),
      correlationId: said(input.correlationId),
    }
    const entry = newEntry({ ...input, ...ids }, made, this.kit)
    const added = await this.intake.add({ ...entry, originalPayload: this.vault.keys.seal(payload, id) })
    switch (added.result) {
      case 'added':
        this.tell(entry)
        await this.limits.changed(1)
        return entry
      case 'known':
      case 'conflict':
        return this.known(added.entry, operation, payload)
      case 'full':
        throw this.limits.isFull()
    }
  }

  /** The entry that has the key already, if it is the same. A store cannot tell where payloads are encrypted. */
  private known(stored: DeadLetter, operation: string, payload: unknown): DeadLetter {
    const entry = this.vault.open(stored)
    if (entry.operationType === operation && samePayload(entry.originalPayload, payload)) return entry
    const other =
      entry.operationType === operation ? 'another payload' : `the operation ${entry.operationType}`
    throw new HoldfastError(
      'IDEMPOTENCY_CONFLICT',
      `idempotencyKey: ${entry.dlqId} has this key already, with ${other}: give each thing that is done a key of its own`,
    )
  }

  /** Chance, and a count besides for when chance is made to repeat itself. */
  private unique(): string {
    return `${chance(this.kit.random, 10)}${(this.count++).toString(36)}`
  }

  private tell({ dlqId, itemId, operationType, policyId, sessionId, correlationId }: DeadLetter): void {
    this.kit.emit({
      eventType: 'dead_letter_enqueued',
      component: 'dead_letters',
      operation: operationType,
      policyId,
      ...(sessionId != null && { sessionId }),
      ...(correlationId != null && { correlationId }),
      context: { dlq_id: dlqId, item_id: itemId },
    })
  }

  private report({ operation, itemId, sessionId, correlationId }: FailedCall, error: unknown): void {
    const { kit } = this
    try {
      const code = isHoldfastError(error) ? error.code : 'STORE_UNAVAILABLE'
      const about = itemId === undefined ? '' : ` about ${JSON.stringify(itemId)}`
      kit.complain(
        `a failed ${operation}${about} is not kept, ${code}: ${messageOf(error, (said) => kit.redact(said))}`,
      )
      kit.emit({
        eventType: 'dead_letter_failed',
        component: 'dead_letters',
        operation,
        ...(sessionId !== undefined && { sessionId }),
        ...(correlationId !== undefined && { correlationId }),
        error: summarize(error, (said) => kit.redact(said), kit.debug()),
        context: { code, ...(itemId !== undefined && { item_id: itemId }) },
      })
    } catch {
      // The caller's own error matters more than anything that could be said here.
    }
  }
}
