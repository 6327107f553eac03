// Follows a page of the documentation as a reader does, in an empty folder:
//   a block that begins with a comment with a file name, such as `// first.mjs`, is written to that file;
//   a ```bash block is run;
//   a ```text block after it is the expected output. `…` matches any characters of a line.
// A command that has printed its expected output and still runs, such as a server, runs until the page ends.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { blocksOf } from '../docs/extract.mjs'

const FILE_COMMENT = /^(?:\/\/|#) ([\w./-]+\.(?:mjs|ts|js|ya?ml|json|txt))\n/

/** Ends commands that hang. It is not a limit for speed: on a busy machine `npm install` takes minutes. */
const LIMIT_MS = 900_000

/** How long a command may run on after its output before it counts as a server. */
const EXIT_GRACE_MS = 500

/** @typedef {{ file: string, text: string } | { command: string, output: string | undefined, line: number }} Step */

/** @param {string} file @param {string} text @returns {Step[]} */
export function stepsOf(file, text) {
  const blocks = blocksOf(file, text)
  /** @type {Step[]} */
  const steps = []
  for (const [index, { info, line, code }] of blocks.entries()) {
    const name = code.match(FILE_COMMENT)?.[1]
    if (info === 'bash') {
      const next = blocks[index + 1]
      steps.push({ command: code, output: next?.info === 'text' ? next.code : undefined, line })
    } else if (info === 'text') {
      if (blocks[index - 1]?.info !== 'bash')
        throw new Error(`${file}:${line}: no command prints this output`)
    } else if (name === undefined) {
      throw new Error(`${file}:${line}: the first line must name a file, such as \`// first.mjs\``)
    } else steps.push({ file: name, text: `${code}\n` })
  }
  return steps
}

/** @param {string} expected @param {string} actual @returns {string | undefined} the first expected line that is missing */
export function missingLine(expected, actual) {
  const lines = actual.split('\n').map((line) => line.trimEnd())
  let from = 0
  for (const line of expected.split('\n').filter((each) => each.trim() !== '')) {
    const parts = line
      .trimEnd()
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    const pattern = new RegExp(`^${parts.join('.*')}$`)
    const index = lines.findIndex((each, at) => at >= from && pattern.test(each))
    if (index === -1) return line
    from = index + 1
  }
  return undefined
}

/**
 * @param {string} file the name of the page, for messages
 * @param {string} text
 * @param {{ folder: string, env: NodeJS.ProcessEnv }} place
 */
export async function follow(file, text, { folder, env }) {
  /** @type {import('node:child_process').ChildProcess[]} */
  const running = []
  try {
    for (const step of stepsOf(file, text)) {
      if ('file' in step) {
        mkdirSync(dirname(join(folder, step.file)), { recursive: true })
        writeFileSync(join(folder, step.file), step.text)
      } else {
        const child = await runCommand(step, `${file}:${step.line}`, folder, env)
        if (child.exitCode === null) running.push(child)
      }
    }
  } finally {
    for (const child of running) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const ended = new Promise((resolve) => child.once('exit', resolve))
      signalGroup(child, 'SIGTERM')
      await ended
    }
  }
}

/**
 * Sends a signal to all processes of a command. They can have ended before this process was notified.
 *
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
function signalGroup({ pid }, signal) {
  try {
    process.kill(-(/** @type {number} */ (pid)), signal)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
  }
}

/**
 * @param {{ command: string, output: string | undefined }} step
 * @param {string} where
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<import('node:child_process').ChildProcess>} ended, or running after its expected output
 */
async function runCommand({ command, output: expected }, where, cwd, env) {
  // A group of its own, so that all processes of a command can be ended.
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const fail = (/** @type {string} */ reason) => new Error(`${where}: ${reason}\n$ ${command}\n${output}`)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const printed = new Promise((resolve) => {
    const onData = (/** @type {Buffer} */ data) => {
      output += data
      if (expected !== undefined && missingLine(expected, output) === undefined) resolve(undefined)
    }
    child.stdout.on('data', onData)
    child.stderr.on('data', onData)
  })
  const after = (/** @type {number} */ ms) =>
    new Promise((resolve) => setTimeout(resolve, ms, 'late').unref())
  const closed = new Promise((resolve) => child.once('close', resolve))
  const result = await Promise.race([closed, printed, after(LIMIT_MS)])
  if (result === 'late') {
    signalGroup(child, 'SIGKILL')
    throw fail(`did not end within ${LIMIT_MS / 1000} s`)
  }
  await Promise.race([exited, after(EXIT_GRACE_MS)])
  if (child.exitCode !== null && child.exitCode !== 0) throw fail(`ended with exit code ${child.exitCode}`)
  const missing = expected === undefined ? undefined : missingLine(expected, output)
  if (missing !== undefined) throw fail(`the output has no line \`${missing}\``)
  return child
}
