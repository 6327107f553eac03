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
import type { CapacityMonitor } from './capacity-monitor.js'
import { createEntry, type DeadLetterInput } from './entry.js'
import { deadLetterId } from './id.js'
import { InsertBatcher } from './insert-batcher.js'
import { parsePayload } from './payload.js'
import type { PayloadCipher } from './payload-cipher.js'

/** A call with a payload that ended in failure. */
export interface FailedCall extends Omit<DeadLetterInput, 'itemId'> {
  itemId?: string | undefined
  /** What the failure was taken for. @defaultValue what `classify` takes it for */
  kind?: string | undefined
}

const REJECTED_MESSAGE = 'a dead letter cannot be kept'
const REQUIRED_CHECKS = { operation: nonEmptyString, itemId: nonEmptyString }
const OPTIONAL_CHECKS = {
  retryCount: nonNegativeInteger,
  idempotencyKey: anyString,
  policyId: anyString,
  sessionId: anyString,
  correlationId: anyString,
}
/** Looked at more closely, or taken as it is. */
const anyValue: OptionCheck = ['anything', () => true]
const INPUT_CHECKS = { ...OPTIONAL_CHECKS, payload: anyValue, error: anyValue }

/** A text that says something. */
const textOrUndefined = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** Brings failed calls into the queue. */
export class DeadLetterWriter {
  private count = 0
  /** The entries of payloads that were captured, for whoever holds the payload. */
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
      throw new HoldfastError('INVALID_OPTIONS', 'dead letters are switched off by dead_letters.enabled')
    checkOptions(REJECTED_MESSAGE, input, REQUIRED_CHECKS, INPUT_CHECKS)
    const entry = await this.store(input)
    return { ...entry, originalPayload: structuredClone(entry.originalPayload) }
  }

  /** Keeps a failed call. Never rejects: what cannot be kept is an event and a line, because the caller has an error already. */
  async capture(call: FailedCall): Promise<DeadLetter | undefined> {
    try {
      const { enabled, skipKinds } = this.options()
      if (!enabled || skipKinds.includes(call.kind ?? classify(call.error).kind)) return undefined
      const itemId = textOrUndefined(call.itemId) ?? textOrUndefined(call.correlationId) ?? call.operation
      const entry = await this.store({ ...call, itemId })
      if (Object(call.payload) === call.payload) this.capturedIds.set(call.payload as object, entry.dlqId)
      return entry
    } catch (error) {
      this.reportNotStored(call, error)
      return undefined
    }
  }

  /** The entry that a payload, this very object, was captured in. */
  capturedIdOf(payload: object): string | undefined {
    return this.capturedIds.get(payload)
  }

  private async store(input: DeadLetterInput): Promise<DeadLetter> {
    const { operation, itemId } = input
    // Whatever else is said of a call that failed is no reason to lose it.
    checkOptions(REJECTED_MESSAGE, { operation, itemId }, REQUIRED_CHECKS)
    const { maxPayload, operations } = this.options()
    if (operations !== undefined && !operations.includes(operation))
      throw new HoldfastError(
        'INVALID_OPTIONS',
        `operation: got ${JSON.stringify(operation)}, and dead_letters.operations lists ${operations.join(', ') || 'none'}`,
      )
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
    switch (added.result) {
      case 'added':
        this.emitCreated(entry)
        await this.capacityMonitor.onChanged(1)
        return entry
      case 'known':
      case 'conflict':
        return this.requireSameEntry(added.entry, operation, payload)
      case 'full':
        throw this.capacityMonitor.onStoreFull()
    }
  }

  /** The entry that has the key already, if it is the same. A store cannot tell where payloads are encrypted. */
  private requireSameEntry(stored: DeadLetter, operation: string, payload: unknown): DeadLetter {
    const entry = this.payloadCipher.decryptEntry(stored)
    if (entry.operationType === operation && isSamePayload(entry.originalPayload, payload)) return entry
    const isSame =
      entry.operationType === operation ? 'another payload' : `the operation ${entry.operationType}`
    throw new HoldfastError(
      'IDEMPOTENCY_CONFLICT',
      `idempotencyKey: ${entry.dlqId} has this key already, with ${isSame}: give each thing that is done a key of its own`,
    )
  }

  /** Chance, and a count besides for when chance is made to repeat itself. */
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
        `a failed ${operation}${about} is not kept, ${code}: ${errorMessageOf(error, (said) => runtime.redact(said))}`,
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
      // The caller's own error matters more than anything that could be said here.
    }
  }
}
