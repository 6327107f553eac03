// Runs commands, two at a time, each when those it waits for are done, and tells how each went.
import { spawn } from 'node:child_process'

/**
 * @typedef {object} Step
 * @property {string} name
 * @property {string[]} command
 * @property {string[]} [after] steps that must have ended
 * @property {string[]} [needs] steps that must have passed; else this one is skipped
 * @property {(passed: boolean) => Counts} [count] what it adds to the sum; one, unless told otherwise
 *
 * @typedef {{ passed: number, failed: number, skipped: number, note?: string }} Counts
 * @typedef {Counts & { name: string, status: 'passed' | 'failed' | 'skipped', seconds: number, output: string }} Result
 */

/**
 * @param {Step[]} steps
 * @param {{ parallel?: number, limit?: number, env?: NodeJS.ProcessEnv, onResult?: (result: Result) => void }} [options]
 *   `limit` is how many milliseconds a step may take
 * @returns {Promise<Result[]>}
 */
export async function runSteps(steps, { parallel = 2, limit = 1_500_000, env = process.env, onResult } = {}) {
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
    const run = runStep(step, limit, env).then((result) => {
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

/** @param {Step} step @param {number} limit @param {NodeJS.ProcessEnv} env @returns {Promise<Result>} */
async function runStep(step, limit, env) {
  const started = performance.now()
  const { problem, output } = await execute(step.command, limit, env)
  const seconds = (performance.now() - started) / 1000
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
 * @param {string[]} command
 * @param {number} limit
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ problem: string | undefined, output: string }>}
 */
function execute([program = '', ...args], limit, env) {
  return new Promise((resolve) => {
    // Its own process group, so that a step that hangs can be ended with all its children.
    const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    let late = false
    const end = () => child.pid !== undefined && endGroup(child.pid)
    const timer = setTimeout(() => {
      late = true
      end()
    }, limit)
    process.once('exit', end)
    child.stdout.on('data', (text) => (output += text))
    child.stderr.on('data', (text) => (output += text))

    const settle = (/** @type {string | undefined} */ problem) => {
      clearTimeout(timer)
      process.off('exit', end)
      resolve({ problem, output })
    }
    child.on('error', (error) => settle(`could not be started: ${error.message}`))
    child.on('close', (code, signal) => {
      if (late) settle(`took longer than ${limit / 1000} s and was ended`)
      else if (signal !== null) settle(`was ended by ${signal}`)
      else settle(code === 0 ? undefined : `ended with exit code ${code}`)
    })
  })
}

/** @param {number} pid */
function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
