// The records of calls that fail, as a runtime writes them.

const OPERATIONS = Array.from({ length: 20 }, (_, i) => `service_${i % 5}.operation_${i}`)
const ERRORS = [
  { type: 'TimeoutError', message: 'the attempt took longer than 30 s' },
  { type: 'Error', message: 'connect ECONNREFUSED 10.0.3.17:443' },
  { type: 'HttpError', message: 'HTTP 503 Service Unavailable' },
]

const random = () => Math.random().toString(36).slice(2, 14)
const pick = (/** @type {any[]} */ list) => list[Math.floor(Math.random() * list.length)]

/**
 * The records of one call whose first attempt failed. Most calls succeed with the second attempt; the others fail three times and
 * become a dead letter with a payload of 1 kB, which was replayed.
 *
 * @param {number} at epoch milliseconds
 * @param {boolean} isRecovered
 */
export function recordsOfCall(at, isRecovered) {
  const operation = pick(OPERATIONS)
  const [subsystem] = operation.split('.')
  const error = pick(ERRORS)
  const sessionId = `default_${at}_${random()}`
  const correlationId = `corr_${random()}`
  const attempts = isRecovered ? 2 : 3
  const numbers = Array.from({ length: attempts }, (_, i) => i + 1)
  const timeOf = (/** @type {number} */ number) => new Date(at + number * 1000)
  const hasFailed = (/** @type {number} */ number) => !isRecovered || number < attempts
  const session = {
    schema: '1.2',
    sessionId,
    policyId: 'default',
    policyIds: ['default'],
    operation,
    subsystem,
    correlationId,
    startTime: new Date(at),
    endTime: timeOf(attempts),
    attempts: numbers.map((number) => ({
      attemptNumber: number,
      timestamp: timeOf(number),
      delay: number === 1 ? 0 : Math.floor(Math.random() * 1000),
      success: !hasFailed(number),
      outcome: hasFailed(number) ? 'failure' : 'success',
      duration: Math.floor(Math.random() * 1000),
      ...(hasFailed(number) ? { error } : {}),
    })),
    success: isRecovered,
    ...(isRecovered ? {} : { finalError: error, stopped: 'attempts_spent' }),
    totalAttempts: attempts,
    totalDuration: Math.floor(Math.random() * 5000),
    retryCount: attempts - 1,
  }
  const events = [...numbers, ...(isRecovered ? [] : ['dead_letter'])].map((number) => ({
    sessionId,
    policyId: 'default',
    operation,
    schema: '1.2',
    eventId: `evt_${at}_${random()}`,
    eventType:
      typeof number === 'string'
        ? 'dead_letter_added'
        : hasFailed(number)
          ? number === attempts
            ? 'retry_failure'
            : 'retry_attempt'
          : 'retry_success',
    timestamp: timeOf(Number(number) || attempts),
    correlationId,
    attempt: Number(number) || attempts,
    maxAttempts: 3,
    delay: Math.floor(Math.random() * 1000),
    error,
    component: 'retry_manager',
  }))
  const errors = numbers.filter(hasFailed).map((number) => ({
    schema: '1.2',
    timestamp: timeOf(number),
    severity: number === 3 ? 'ERROR' : 'WARNING',
    category: 'TRANSIENT',
    message: error.message,
    errorType: error.type,
    context: { operation, correlationId },
    retryCount: number - 1,
    kind: 'server',
    sessionId,
  }))
  const deadLetter = isRecovered
    ? undefined
    : {
        schema: '1.2',
        dlqId: `dlq_${at}_${random()}`,
        itemId: `item_${random()}`,
        operationType: operation,
        status: 'completed',
        originalPayload: { id: random(), text: Array.from({ length: 80 }, random).join(' ').slice(0, 960) },
        errorDetails: { errorType: error.type, errorMessage: error.message, retryCount: 2 },
        createdAt: new Date(at),
        lastAttempt: timeOf(3),
        replayedAt: timeOf(60),
        processed: true,
        idempotencyKey: `idk_${random()}${random()}`,
        policyId: 'default',
      }
  return { session, events, errors, deadLetter }
}

/** The counters of one hour: a row for each policy, operation, subsystem and kind of error. @param {number} start */
export const metricsOfHour = (start) =>
  [
    'minute:total',
    ...OPERATIONS.flatMap((name) => [`minute:operation:${name}`, `minute:policy:${name}`]),
  ].map((series) => ({
    series,
    start,
    node: 'host:1:abcdef',
    data: Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [
        i,
        Array.from({ length: 8 }, () => Math.floor(Math.random() * 3000)),
      ]),
    ),
  }))
