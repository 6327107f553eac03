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
  // The network takes real time, so the injected clock is not used.
  const timer = systemClock.setTimer(() => socket.destroy(), LINGER_MS)
  socket.once('close', () => systemClock.clearTimer(timer)).on('error', ignore)
  const destroyWhenSent = (): void => {
    if (socket.writableFinished) socket.destroy()
    else socket.once('finish', () => socket.destroy())
  }
  if (socket.readableEnded) destroyWhenSent()
  else socket.once('end', destroyWhenSent).removeAllListeners('data').on('data', ignore).resume()
}

/** Makes the HTTP server of Node, which calls `destroySoon` after the last response, close this connection gracefully. */
export function lingerAfterResponse(socket: Socket): void {
  socket.destroySoon = () => closeGracefully(socket)
}
