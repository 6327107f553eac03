// Follows a page of the documentation as a reader does, in an empty folder:
//   a block that begins with a comment with a file name, such as `// first.mjs`, is written to that file;
//   a ```bash block is run, and must end with exit code 0;
//   a ```bash server block is run until the page ends, and must print its expected output;
//   a ```text block after it is the expected output. `…` matches any characters of a line.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { blocksOf } from '../docs/extract.mjs'

const FILE_COMMENT = /^(?:\/\/|#) ([\w./-]+\.(?:mjs|ts|js|ya?ml|json|txt))\n/

/** Ends commands that hang. It is not a limit for speed: on a busy machine `npm install` takes minutes. */
const LIMIT_MS = 900_000

/** The language of a block with a command, and of one with a server. */
const [COMMAND, SERVER] = ['bash', 'bash server']

/** @typedef {{ command: string, output: string | undefined, isServer: boolean, line: number }} CommandStep */
/** @typedef {{ file: string, text: string } | CommandStep} Step */

/** @param {string} file @param {string} text @returns {Step[]} */
export function stepsOf(file, text) {
  const blocks = blocksOf(file, text)
  /** @type {Step[]} */
  const steps = []
  for (const [index, { info, line, code }] of blocks.entries()) {
    const name = code.match(FILE_COMMENT)?.[1]
    if (info === COMMAND || info === SERVER) {
      const next = blocks[index + 1]
      const output = next?.info === 'text' ? next.code : undefined
      const isServer = info === SERVER
      if (isServer && output === undefined) throw new Error(`${file}:${line}: a server needs expected output`)
      steps.push({ command: code, output, isServer, line })
    } else if (info === 'text') {
      if (![COMMAND, SERVER].includes(blocks[index - 1]?.info ?? ''))
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
  /** @type {StartedCommand[]} */
  const servers = []
  try {
    for (const step of stepsOf(file, text)) {
      if ('file' in step) {
        mkdirSync(dirname(join(folder, step.file)), { recursive: true })
        writeFileSync(join(folder, step.file), step.text)
      } else {
        const command = await runCommand(step, `${file}:${step.line}`, folder, env)
        if (step.isServer) servers.push(command)
      }
    }
    for (const { child, fail } of servers)
      if (hasEnded(child))
        throw fail(`the server ended with ${child.signalCode ?? `exit code ${child.exitCode}`}`)
  } finally {
    for (const { child } of servers) {
      if (hasEnded(child)) continue
      const ended = new Promise((resolve) => child.once('exit', resolve))
      signalGroup(child, 'SIGTERM')
      await ended
    }
  }
}

/** @param {import('node:child_process').ChildProcess} child */
const hasEnded = ({ exitCode, signalCode }) => exitCode !== null || signalCode !== null

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
 * A command that was started, and a function that describes a problem of it with its output until then.
 *
 * @typedef {{ child: import('node:child_process').ChildProcess, fail(reason: string): Error }} StartedCommand
 */

/**
 * Runs a command until it has ended, and a server until it has printed its expected output.
 *
 * @param {CommandStep} step
 * @param {string} where
 * @param {string} cwd
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<StartedCommand>}
 */
async function runCommand({ command, output: expected, isServer }, where, cwd, env) {
  // A group of its own, so that all processes of a command can be ended.
  const child = spawn('bash', ['-euo', 'pipefail', '-c', command], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  const fail = (/** @type {string} */ reason) => new Error(`${where}: ${reason}\n$ ${command}\n${output}`)
  const printed = new Promise((resolve) => {
    const onData = (/** @type {Buffer} */ data) => {
      output += data
      if (isServer && missingLine(expected ?? '', output) === undefined) resolve(undefined)
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
    throw fail(`did not ${isServer ? 'print the expected output' : 'end'} within ${LIMIT_MS / 1000} s`)
  }
  if (!isServer && child.exitCode !== 0)
    throw fail(`ended with ${child.signalCode ?? `exit code ${child.exitCode}`}`)
  const missing = expected === undefined ? undefined : missingLine(expected, output)
  if (missing !== undefined) throw fail(`the output has no line \`${missing}\``)
  return { child, fail }
}
