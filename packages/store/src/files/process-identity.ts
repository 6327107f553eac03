import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Whether a process lives, as far as this one can know. */
export type Liveness = 'alive' | 'dead' | 'unknown'

const UNKNOWN = '-'

/** What a file or link of the system says; `-` where there is none. */
function readSystem(read: () => string): string {
  try {
    return read().trim() || UNKNOWN
  } catch {
    return UNKNOWN
  }
}

/** State and start time of a process of Linux: the third and the 22nd field, after a name that may hold anything. */
function readProcessStat(pid: string): { state: string; startedAt: string } | undefined {
  const text = readSystem(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, startedAt] = [fields[0], fields[19]]
  return text === UNKNOWN || state === undefined || startedAt === undefined ? undefined : { state, startedAt }
}

const shortHash = (text: string): string =>
  text === UNKNOWN ? text : createHash('sha256').update(text).digest('hex').slice(0, 10)

/** Which process it is: number and start, the boot of its machine, the namespace of its number, and a hash of the host name. */
interface Identity {
  readonly pid: string
  readonly startedAt: string
  readonly boot: string
  readonly namespace: string
  readonly host: string
}

const THIS_IDENTITY: Identity = {
  pid: `${process.pid}`,
  startedAt: readProcessStat(`${process.pid}`)?.startedAt ?? UNKNOWN,
  boot: shortHash(readSystem(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'))),
  namespace: shortHash(readSystem(() => readlinkSync('/proc/self/ns/pid'))),
  host: shortHash(hostname()),
}

const formatIdentity = ({ pid, startedAt, boot, namespace, host }: Identity): string =>
  [pid, startedAt, boot, namespace, host].join(' ')

/** This process, as it is written down. The host name at the end is for people. */
export const THIS_PROCESS = `${formatIdentity(THIS_IDENTITY)} ${hostname()}`

function parseIdentity(text: string): Identity | undefined {
  const [pid, startedAt, boot, namespace, host] = text.split(' ')
  if (!/^\d+$/.test(pid ?? '') || host === undefined) return undefined
  return { pid, startedAt, boot, namespace, host } as Identity
}

/** Whether a process of that number exists. One of another user's does, though it may not be sent a signal. */
function hasProcess(pid: string): boolean {
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Whether the process lives that was written down. */
export function livenessOf(text: string, self: Identity = THIS_IDENTITY): Liveness {
  const owner = parseIdentity(text)
  if (owner === undefined) return 'unknown'
  // A process number means something only to the processes of one machine, one boot and one namespace.
  if (owner.boot !== self.boot || owner.namespace !== self.namespace) return 'unknown'
  const isLinux = self.boot !== UNKNOWN
  if (isLinux ? self.namespace === UNKNOWN : owner.host !== self.host) return 'unknown'
  if (!hasProcess(owner.pid)) return 'dead'
  const stat = readProcessStat(owner.pid)
  // Without a start time it may be another process that was given the number of one that has ended.
  if (stat === undefined || owner.startedAt === UNKNOWN) return 'unknown'
  const hasEnded = stat.state === 'Z' || stat.state === 'X'
  return hasEnded || stat.startedAt !== owner.startedAt ? 'dead' : 'alive'
}

/** The process that was written down, for messages. What is not the name of a host is left out. */
export function describeProcess(text: string): string {
  const owner = parseIdentity(text)
  if (owner === undefined) return 'an unknown process'
  const host = /^[\w.-]{1,253}$/.exec(text.split(' ')[5] ?? '')?.[0]
  return `process ${owner.pid} on ${host ?? 'an unknown host'}`
}
