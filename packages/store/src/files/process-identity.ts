import { createHash } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/** Whether a process is alive, as far as this process can find out. */
export type Liveness = 'alive' | 'dead' | 'unknown'

const UNKNOWN = '-'

/** The content of a system file or link; `-` if it does not exist. */
function readSystem(read: () => string): string {
  try {
    return read().trim() || UNKNOWN
  } catch {
    return UNKNOWN
  }
}

/** State and start time of a process on Linux: fields 3 and 22, after a name that can contain any character. */
function readProcessStat(pid: string): { state: string; startedAt: string } | undefined {
  const text = readSystem(() => readFileSync(`/proc/${pid}/stat`, 'latin1'))
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, startedAt] = [fields[0], fields[19]]
  return text === UNKNOWN || state === undefined || startedAt === undefined ? undefined : { state, startedAt }
}

const shortHash = (text: string): string =>
  text === UNKNOWN ? text : createHash('sha256').update(text).digest('hex').slice(0, 10)

/** Identifies a process: its number and start time, the boot id of its machine, its pid namespace, and a hash of the host name. */
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

/** The identity of this process as text. The host name at the end is for people. */
export const THIS_PROCESS = `${formatIdentity(THIS_IDENTITY)} ${hostname()}`

function parseIdentity(text: string): Identity | undefined {
  const [pid, startedAt, boot, namespace, host] = text.split(' ')
  if (!/^\d+$/.test(pid ?? '') || host === undefined) return undefined
  return { pid, startedAt, boot, namespace, host } as Identity
}

/** Whether a process with this number exists. A process of another user exists too, although it cannot be signaled. */
function hasProcess(pid: string): boolean {
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** Whether the process that the text identifies is alive. */
export function livenessOf(text: string, self: Identity = THIS_IDENTITY): Liveness {
  const owner = parseIdentity(text)
  if (owner === undefined) return 'unknown'
  // A process number is meaningful only on the same machine, in the same boot and the same namespace.
  if (owner.boot !== self.boot || owner.namespace !== self.namespace) return 'unknown'
  const isLinux = self.boot !== UNKNOWN
  if (isLinux ? self.namespace === UNKNOWN : owner.host !== self.host) return 'unknown'
  if (!hasProcess(owner.pid)) return 'dead'
  const stat = readProcessStat(owner.pid)
  // Without a start time it may be another process that has reused the number.
  if (stat === undefined || owner.startedAt === UNKNOWN) return 'unknown'
  const hasEnded = stat.state === 'Z' || stat.state === 'X'
  return hasEnded || stat.startedAt !== owner.startedAt ? 'dead' : 'alive'
}

/** Describes a process for messages. A host name with unexpected characters is left out. */
export function describeProcess(text: string): string {
  const owner = parseIdentity(text)
  if (owner === undefined) return 'an unknown process'
  const host = /^[\w.-]{1,253}$/.exec(text.split(' ')[5] ?? '')?.[0]
  return `process ${owner.pid} on ${host ?? 'an unknown host'}`
}
