import type { Socket } from 'node:net'
import { systemClock } from 'holdfast/internal'

/** How long the proxy reads and drops what a client still sends after the last response on its connection. */
export const LINGER_MS = 2000

const ignore = (): void => {}

/**
 * Closes a connection after its last response. Closing it with unread bytes would reset it, and the client could lose the
 * response; so the proxy stops sending, and reads until the client does too or the time is over.
 */
export function closeGracefully(socket: Socket): void {
  if (socket.destroyed) return
  if (socket.writable) socket.end()
  // How long a network takes is real time, whatever clock the policies use.
  const timer = systemClock.setTimer(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => systemClock.clearTimer(timer)).on('error', ignore)
  const destroyWhenSent = (): void => {
    if (socket.writableFinished) socket.destroy()
    else socket.once('finish', () => socket.destroy())
  }
  if (socket.readableEnded) destroyWhenSent()
  else socket.once('end', destroyWhenSent).removeAllListeners('data').on('data', ignore).resume()
}

/** Has Node's HTTP server, which closes a connection by `destroySoon` after its last response, close this one gracefully. */
export function lingerAfterResponse(socket: Socket): void {
  socket.destroySoon = () => closeGracefully(socket)
}
