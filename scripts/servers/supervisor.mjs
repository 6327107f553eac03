// Runs one program for the process that forked this one. When that process ends, in whatever way (an exit, Ctrl-C, kill -9),
// the IPC channel closes, and this process ends the program with all its descendants. See supervise.mjs for the other side.
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'

/** How long the program may take to end after its stop signal, before it is killed. */
const STOP_GRACE_MS = 5000

/** @type {import('./supervise.mjs').Task | undefined} */
let task
/** @type {import('node:child_process').ChildProcess | undefined} */
let child
let isStopping = false

/** @param {number} pid @returns {number[]} */
function descendantsOf(pid) {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number)
    return children.filter((id) => id > 0).flatMap((id) => [id, ...descendantsOf(id)])
  } catch {
    return [] // It has ended, or the system has no /proc.
  }
}

/** @param {number} pid @param {NodeJS.Signals} signal */
function sendSignal(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

/**
 * Signals the program's process group and each descendant: the processes of PostgreSQL have process groups of their own.
 *
 * @param {NodeJS.Signals} signal
 */
function signalAll(signal) {
  const pid = child?.pid
  if (pid !== undefined) for (const id of [-pid, ...descendantsOf(pid)]) sendSignal(id, signal)
}

/** @param {import('./supervise.mjs').Report} result @param {() => void} [then] */
function report(result, then) {
  if (process.connected) process.send?.(result, () => then?.())
  else then?.()
}

function exit() {
  if (!process.connected)
    for (const folder of task?.temporaryFolders ?? []) rmSync(folder, { recursive: true, force: true })
  process.exit()
}

/** @param {import('./supervise.mjs').Task} given */
function startProgram(given) {
  task = given
  const { command, args, cwd, env, uid, gid } = given
  child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    // A process group of its own can be signalled without this process.
    detached: true,
    // It writes to the pipes of the process that forked this one.
    stdio: ['ignore', 'inherit', 'inherit'],
    ...(uid !== undefined && { uid }),
    ...(gid !== undefined && { gid }),
  })
  const { pid } = child
  if (pid !== undefined) report({ pid })
  child.once('error', (error) => report({ error: error.message }, exit))
  child.once('exit', (code, signal) => report({ exit: { code, signal } }, exit))
}

function stopProgram() {
  if (isStopping) return
  isStopping = true
  if (child?.pid === undefined || task === undefined) {
    exit()
    return
  }
  signalAll('SIGCONT') // A stopped process handles no other signal.
  if (task.stopSignal === 'SIGKILL') signalAll('SIGKILL')
  else sendSignal(child.pid, task.stopSignal)
  setTimeout(() => signalAll('SIGKILL'), STOP_GRACE_MS)
}

process.on('message', (message) => {
  if (message === 'kill') signalAll('SIGKILL')
  else startProgram(/** @type {import('./supervise.mjs').Task} */ (message))
})
process.on('disconnect', stopProgram)
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, stopProgram)
