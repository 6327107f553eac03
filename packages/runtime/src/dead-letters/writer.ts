import type { DeadLetterOptions, RuntimeContext } from '@holdfast/config'
import {
  anyString,
  checkOptions,
  type DeadLetter,
  errorMessageOf,
  nonEmptyString,
  nonNegativeInteger,
  type OptionCheck,
  randomString,
  summarizeError,
} from '@holdfast/records'
import { isSamePayload } from '@holdfast/store'
import { classify, HoldfastError, isHoldfastError } from 'holdfast'
import { createOptionsError, optionProblem } from 'holdfast/internal'
import type { CapacityMonitor } from './capacity-monitor.js'
import { createEntry, type DeadLetterInput } from './entry.js'
import { deadLetterId } from './id.js'
import { InsertBatcher } from './insert-batcher.js'
import { parsePayload } from './payload.js'
import type { PayloadCipher } from './payload-cipher.js'

/** A failed call with a payload. */
export interface FailedCall extends Omit<DeadLetterInput, 'itemId'> {
  itemId?: string | undefined
  /** The kind of the failure. @defaultValue the kind that `classify` returns */
  kind?: string | undefined
  /** Creates the payload, where `payload` is absent. */
  createPayload?: (() => Promise<unknown>) | undefined
}

const REJECTED_MESSAGE = 'a dead letter cannot be stored'
const REQUIRED_CHECKS = { operation: nonEmptyString, itemId: nonEmptyString }
const OPTIONAL_CHECKS = {
  retryCount: nonNegativeInteger,
  idempotencyKey: anyString,
  policyId: anyString,
  sessionId: anyString,
  correlationId: anyString,
}
/** For fields that are checked later or take any value. */
const anyValue: OptionCheck = ['anything', () => true]
const INPUT_CHECKS = { ...OPTIONAL_CHECKS, payload: anyValue, error: anyValue }

/** A string that is not empty, else undefined. */
const textOrUndefined = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Stores failed calls in the queue. */
export class DeadLetterWriter {
  private count = 0
  /** The entry id of each captured payload object. */
  private readonly capturedIds = new WeakMap<object, string>()
  private readonly runtime: RuntimeContext
  private readonly options: () => DeadLetterOptions
  private readonly payloadCipher: PayloadCipher
  private readonly capacityMonitor: CapacityMonitor
  private readonly policyIdOf: (operation: string) => string
  private readonly inserts: InsertBatcher

  constructor(
    runtime: RuntimeContext,
    options: () => DeadLetterOptions,
    payloadCipher: PayloadCipher,
    limits: CapacityMonitor,
    policyOf: (operation: string) => string,
  ) {
    this.runtime = runtime
    this.options = options
    this.payloadCipher = payloadCipher
    this.capacityMonitor = limits
    this.policyIdOf = policyOf
    runtime.store.deadLetters.compareWith?.((a, b) =>
      isSamePayload(
        payloadCipher.decryptEntry(a).originalPayload,
        payloadCipher.decryptEntry(b).originalPayload,
      ),
    )
    this.inserts = new InsertBatcher(runtime.store.deadLetters, () => options().maxEntries)
  }

  async enqueue(input: DeadLetterInput): Promise<DeadLetter> {
    if (!this.options().enabled)
      throw new HoldfastError('INVALID_OPTIONS', 'dead letters are disabled by dead_letters.enabled')
    checkOptions(REJECTED_MESSAGE, input, REQUIRED_CHECKS, INPUT_CHECKS)
    const entry = await this.store(input)
    return { ...entry, originalPayload: structuredClone(entry.originalPayload) }
  }

  /**
   * Stores a failed call. Never rejects, because the caller already has an error: a failure becomes an event and a line on
   * stderr.
   */
  async capture(call: FailedCall): Promise<DeadLetter | undefined> {
    try {
      const { enabled, skipKinds } = this.options()
      if (!enabled || skipKinds.includes(call.kind ?? classify(call.error).kind)) return undefined
      const itemId = textOrUndefined(call.itemId) ?? textOrUndefined(call.correlationId) ?? call.operation
      const payload = call.createPayload === undefined ? call.payload : await call.createPayload()
      const entry = await this.store({ ...call, itemId, payload })
      if (Object(call.payload) === call.payload) this.capturedIds.set(call.payload as object, entry.dlqId)
      return entry
    } catch (error) {
      this.reportNotStored(call, error)
      return undefined
    }
  }

  /** The id of the entry whose payload is this object. */
  capturedIdOf(payload: object): string | undefined {
    return this.capturedIds.get(payload)
  }

  private async store(input: DeadLetterInput): Promise<DeadLetter> {
    const { operation, itemId } = input
    // Only these two fields are required of a failed call: a wrong value in another field must not lose the entry.
    checkOptions(REJECTED_MESSAGE, { operation, itemId }, REQUIRED_CHECKS)
    const { maxPayload, operations } = this.options()
    if (operations !== undefined && !operations.includes(operation))
      throw createOptionsError(REJECTED_MESSAGE, [
        optionProblem(
          'operation',
          `one of dead_letters.operations (${operations.join(', ') || 'none'})`,
          operation,
        ),
      ])
    const payload = parsePayload(input.payload, operation, maxPayload)
    const at = new Date(this.runtime.clock.wall())
    const id = deadLetterId(at, itemId, this.uniqueSuffix())
    const identity = {
      id,
      key: textOrUndefined(input.idempotencyKey) ?? `idk_${this.uniqueSuffix()}`,
      at,
      payload,
    }
    const ids = {
      policyId: textOrUndefined(input.policyId) ?? this.policyIdOf(operation),
      sessionId: textOrUndefined(input.sessionId),
      correlationId: textOrUndefined(input.correlationId),
    }
    const entry = createEntry({ ...input, ...ids }, identity, this.runtime)
    const added = await this.inserts.add({
      ...entry,
      originalPayload: this.payloadCipher.keyRing.encrypt(payload, id),
    })
    if (added.result === 'full') throw this.capacityMonitor.onStoreFull()
    // The id is new, so an existing entry with it is from this call: its insert was sent twice, because the first response was lost.
    const isCreated = added.result === 'added' || added.entry.dlqId === id
    if (!isCreated) return this.requireSameEntry(added.entry, operation, payload)
    this.emitCreated(entry)
    await this.capacityMonitor.onChanged(1)
    return entry
  }

  /**
   * Returns the stored entry with the same key if operation and payload are equal. Stores cannot compare encrypted payloads
   * themselves.
   */
  private requireSameEntry(stored: DeadLetter, operation: string, payload: unknown): DeadLetter {
    const entry = this.payloadCipher.decryptEntry(stored)
    if (entry.operationType === operation && isSamePayload(entry.originalPayload, payload)) return entry
    const difference =
      entry.operationType === operation ? 'another payload' : `the operation ${entry.operationType}`
    throw new HoldfastError(
      'IDEMPOTENCY_CONFLICT',
      `idempotencyKey: ${entry.dlqId} already has this key with ${difference}; use one key per operation and payload`,
    )
  }

  /** A random part and a counter, in case a test's random source repeats itself. */
  private uniqueSuffix(): string {
    return `${randomString(this.runtime.random, 10)}${(this.count++).toString(36)}`
  }

  private emitCreated({
    dlqId,
    itemId,
    operationType,
    policyId,
    sessionId,
    correlationId,
  }: DeadLetter): void {
    this.runtime.emit({
      eventType: 'dead_letter_enqueued',
      component: 'dead_letters',
      operation: operationType,
      policyId,
      ...(sessionId != null && { sessionId }),
      ...(correlationId != null && { correlationId }),
      context: { dlq_id: dlqId, item_id: itemId },
    })
  }

  private reportNotStored({ operation, itemId, sessionId, correlationId }: FailedCall, error: unknown): void {
    const { runtime } = this
    try {
      const code = isHoldfastError(error) ? error.code : 'STORE_UNAVAILABLE'
      const about = itemId === undefined ? '' : ` about ${JSON.stringify(itemId)}`
      runtime.warn(
        `a failed ${operation}${about} could not be stored as a dead letter, ${code}: ${errorMessageOf(error, (text) => runtime.redact(text))}`,
      )
      runtime.emit({
        eventType: 'dead_letter_failed',
        component: 'dead_letters',
        operation,
        ...(sessionId !== undefined && { sessionId }),
        ...(correlationId !== undefined && { correlationId }),
        error: summarizeError(error, (said) => runtime.redact(said), runtime.isDebug()),
        context: { code, ...(itemId !== undefined && { item_id: itemId }) },
      })
    } catch {
      // The caller's own error must reach the caller, even if reporting fails.
    }
  }
}
