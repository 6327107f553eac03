// What the operating system knows about a process. Linux only; elsewhere nothing is known.
import { readdir, readFile, readlink } from 'node:fs/promises'

/** The number of open file descriptors and of sockets among them. @param {number} pid */
export async function countDescriptors(pid) {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder).catch(() => undefined)
  if (names === undefined) return {}
  const links = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')))
  return { descriptors: names.length, sockets: links.filter((link) => link.startsWith('socket:')).length }
}

/** The resident memory in bytes. @param {number} pid */
export async function residentMemory(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(status)?.[1]
  return kilobytes === undefined ? {} : { rss: Number(kilobytes) * 1024 }
}

/**
 * How long the main thread has been ready to run and waited for a processor, in milliseconds since it started. Other threads and
 * programs cause it, never the work of the thread itself.
 *
 * @param {number} pid
 */
export async function processorWait(pid) {
  const text = await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').catch(() => '')
  const nanoseconds = text.split(' ')[1]
  return nanoseconds === undefined ? {} : { waitedMs: Number(nanoseconds) / 1e6 }
}
