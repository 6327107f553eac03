// Runs the steps of the gate, two at a time. A step starts when the steps before it have ended, and its result is reported.
import { SupervisedProcess } from '../servers/supervise.mjs'

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string[]} command
 * @property {string[]} [after] steps that must have ended
 * @property {string[]} [needs] steps that must have passed; else this one is skipped
 * @property {(passed: boolean) => Counts} [count] what it adds to the sum; one, unless told otherwise
 * @property {boolean} [optional] a failure counts as skipped, with the last line of its output as the reason
 *
 * @typedef {{ passed: number, failed: number, skipped: number, note?: string }} Counts
 * @typedef {Counts & { name: string, status: 'passed' | 'failed' | 'skipped', seconds: number, output: string }} Result
 */

/**
 * @param {Step[]} steps
 * @param {{ parallel?: number, limit?: number, env?: NodeJS.ProcessEnv, onResult?: (result: Result) => void, onOutput?: (text: string) => void }} [options]
 *   `limit` is how many milliseconds a step may take. It ends steps that hang and is not a limit for
 *   speed: on a busy machine the tests took more than 45 minutes. `env` is added to the environment of this process
 * @returns {Promise<Result[]>}
 */
export async function runSteps(
  steps,
  { parallel = 2, limit = 7_200_000, env = {}, onResult, onOutput } = {},
) {
  /** @type {Map<string, Result>} */
  const done = new Map()
  /** @type {Set<Step>} */
  const waiting = new Set(steps)
  /** @type {Set<Promise<void>>} */
  const running = new Set()

  const finish = (/** @type {Result} */ result) => {
    done.set(result.name, result)
    onResult?.(result)
  }
  const start = (/** @type {Step} */ step) => {
    waiting.delete(step)
    const missing = step.needs?.find((name) => done.get(name)?.status !== 'passed')
    if (missing !== undefined) {
      const result = { name: step.name, seconds: 0, output: '', note: `needs ${missing}` }
      return finish({ ...result, status: 'skipped', passed: 0, failed: 0, skipped: 1 })
    }
    const run = runStep(step, limit, env, onOutput).then((result) => {
      running.delete(run)
      finish(result)
    })
    running.add(run)
  }

  while (waiting.size > 0 || running.size > 0) {
    const ready = [...waiting].find((step) =>
      [...(step.after ?? []), ...(step.needs ?? [])].every((name) => done.has(name)),
    )
    if (ready !== undefined && running.size < parallel) start(ready)
    else if (running.size > 0) await Promise.race(running)
    else
      throw new Error(
        `These steps wait for something that never comes: ${[...waiting].map((s) => s.name).join(', ')}`,
      )
  }
  return [...done.values()]
}

/** @param {Step} step @param {number} limit @param {NodeJS.ProcessEnv} env @param {(text: string) => void} [onOutput] @returns {Promise<Result>} */
async function runStep(step, limit, env, onOutput) {
  const started = performance.now()
  const { problem, output } = await execute(step.command, limit, env, onOutput)
  const seconds = (performance.now() - started) / 1000
  if (problem !== undefined && step.optional) {
    const note = output.trim().split('\n').at(-1) || problem
    return { name: step.name, status: 'skipped', seconds, passed: 0, failed: 0, skipped: 1, note, output }
  }
  let counts = { passed: problem ? 0 : 1, failed: problem ? 1 : 0, skipped: 0 }
  let why = problem
  try {
    if (step.count) counts = step.count(problem === undefined)
  } catch (error) {
    // A step that died before it wrote its results has failed, whatever its exit code.
    counts = { passed: 0, failed: 1, skipped: 0 }
    why = [problem, `its results cannot be read: ${error}`].filter(Boolean).join('; ')
  }
  if (why !== undefined && counts.failed === 0) counts = { ...counts, failed: 1 }
  const status = counts.failed === 0 ? 'passed' : 'failed'
  return { name: step.name, status, seconds, ...counts, output: `${output}\n${why ?? ''}`.trim() }
}

/**
 * Runs a command that ends with this process at the latest.
 *
 * @param {string[]} command
 * @param {number} limit
 * @param {NodeJS.ProcessEnv} env
 * @param {(text: string) => void} [onOutput]
 * @returns {Promise<{ problem: string | undefined, output: string }>}
 */
async function execute([program = '', ...args], limit, env, onOutput) {
  const child = new SupervisedProcess({ command: program, args, env })
  let output = ''
  let isLate = false
  child.onOutput((text) => {
    output += text
    onOutput?.(text)
  })
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  try {
    await child.started
    timer = setTimeout(() => {
      isLate = true
      void child.killAll()
    }, limit)
    const { code, signal } = await child.exited
    if (isLate) return { problem: `took longer than ${limit / 1000} s and was ended`, output }
    if (signal !== null) return { problem: `was ended by ${signal}`, output }
    return { problem: code === 0 ? undefined : `ended with exit code ${code}`, output }
  } catch (error) {
    return { problem: /** @type {Error} */ (error).message, output }
  } finally {
    clearTimeout(timer)
  }
}
