// What the demonstration shows. Failures and chance are scripted, time is real.
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { guard, isHoldfastError } from 'holdfast'
import { seededRandom } from 'holdfast/testing'
import { animate, ink, live, print } from './screen.mjs'
import { show } from './timeline.mjs'

const { bold, dim, green, red, yellow } = ink

/** Says what is to come, and makes the guard for it. @param {string} title @param {import('holdfast').GuardOptions} options */
function scene(title, options) {
  const shown = Object.entries(options).map(
    ([name, value]) => `     ${name}: ${value.name ?? inspect(value, { breakLength: Infinity })}`,
  )
  print('', bold(`  ${title}`), ...shown.map(dim), '')
  return guard({ ...options, random: seededRandom(2) })
}

print('', `  ${bold('holdfast')}  calls to unreliable things, kept alive`)

const failures = [
  Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
  Object.assign(new Error('503, Retry-After 1'), { status: 503, headers: { 'retry-after': '1' } }),
  Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }),
]
const flaky = scene('1  A flaky service is asked again', {
  retry: { maxAttempts: 5, baseDelay: 250, jitterType: 'full' },
})
const attempts = await show(flaky, 3300, async ({ number }) => {
  await sleep(260)
  const failure = failures[number - 1]
  if (failure !== undefined) throw failure
})

const service = scene('2  A service that is down is left alone', {
  retry: false,
  breaker: { failureThreshold: 3, timeoutDuration: 1400, successThreshold: 2 },
})
const breaker = /** @type {import('holdfast').CircuitBreaker} */ (service.breaker)
const looks = { closed: green('━━'), open: red('╌╌'), half_open: yellow('┅┅') }
const signs = { answered: green('✓'), failed: red('✗'), refused: dim('·') }
const why = {
  closed: 'two tests passed: it is back',
  open: 'every call is refused for 1.4 s',
  half_open: 'its time is up: one call at a time may test it',
}
/** @type {{ outcome: keyof typeof signs, state: keyof typeof looks }[]} */
const calls = []
/** @type {string[]} */
const changes = []
print(
  `     ${signs.answered} answered   ${signs.failed} failed   ${signs.refused} refused without being made`,
  '',
)
breaker.on(({ fromState, toState }) => {
  const call = `     call ${calls.length + 1}`.padEnd(14)
  changes.push(`${call}${`${fromState} → ${toState}`.padEnd(21)}${dim(why[toState])}`)
  if (!live) print(...changes.slice(-1))
})

/** Calls every 220 ms; from the 6th call to the 18th the service is down. */
async function keepCalling() {
  const start = performance.now()
  for (let number = 1; number <= 29; number++) {
    await sleep(start + number * 220 - performance.now())
    const answer = service.run(async () => {
      await sleep(60)
      if (number >= 6 && number <= 18) throw new Error('down')
    })
    const failed = (/** @type {unknown} */ error) =>
      isHoldfastError(error, 'CIRCUIT_OPEN') ? 'refused' : 'failed'
    const outcome = await answer.then(() => /** @type {const} */ ('answered'), failed)
    calls.push({ outcome, state: breaker.state })
  }
}
const strips = () => {
  const left = (breaker.nextTestTime ?? 0) - Date.now()
  const state = breaker.state === 'open' ? `open, tested in ${(left / 1000).toFixed(1)} s` : breaker.state
  return [
    `     calls    ${calls.map((call) => signs[call.outcome]).join(' ')}`,
    `     breaker  ${calls.map((call) => looks[call.state]).join('')} ${dim(state)}`,
  ]
}
await animate(() => (live ? [...strips(), '', ...changes] : []), keepCalling())
if (!live) print('', ...strips())

let code = ''
const yesterdaysAnswer = (/** @type {unknown} */ error) => {
  code = isHoldfastError(error) ? error.code : ''
}
const hanging = scene('3  A service that hangs is not waited for', {
  retry: { baseDelay: 300 },
  timeout: { attempt: '1s', total: '2s' },
  fallback: yesterdaysAnswer,
})
const hung = await show(hanging, 2200, ({ signal }) => sleep(60_000, undefined, { signal }))
print(`     fallback   ${signs.answered} yesterday's answer, in place of ${code}`)

const count = (/** @type {string} */ wanted) => calls.filter(({ outcome }) => outcome === wanted).length
print(
  '',
  bold('  In all'),
  `     retries    1 call, ${attempts} attempts, 1 answer`,
  `     breaker    ${calls.length} calls: ${count('answered')} answered, ${count('failed')} failed, ${count('refused')} refused`,
  `     deadlines  1 call, ${hung} attempts, ended by its deadline, answered by its fallback`,
  '',
  dim('  The code is in scripts/demo, the pages are in docs, and npm test is the proof.'),
  '',
)
