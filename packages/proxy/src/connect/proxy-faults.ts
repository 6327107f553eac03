import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { ProxyConnectionError } from '../errors.js'
import { isBodilessLengthError } from './bodiless.js'

type UndiciHandler = Dispatcher.DispatchHandler
type UndiciController = Dispatcher.DispatchController

/** What statuses say of the proxy, and of nothing that those who asked could use. */
const statusFault = (status: number, proxy: string): Error | undefined => {
  if (status === 407) return new ProxyConnectionError(`the proxy ${proxy} rejected the credentials`)
  if (status === 101) return new ProxyConnectionError(`the proxy ${proxy} sent an unexpected 101 response`)
  return undefined
}

/** What a parser cannot read is said in the words of a proxy that fails. */
const toProxyError = (error: Error, proxy: string): Error =>
  error.name === 'HTTPParserError'
    ? new ProxyConnectionError(`the response through the proxy ${proxy} is not HTTP`)
    : error

/**
 * Makes an error of a 407, which is about us and the proxy and nothing to those who asked, of a protocol that nobody asked for,
 * and of an answer that is none the proxy's own fault. Handlers come in two forms, since the `fetch` of a platform brings its
 * own.
 */
export const withProxyFaults = (handler: UndiciHandler, proxy: string): UndiciHandler =>
  handler.onRequestStart === undefined
    ? new LegacyFaultHandler(handler, proxy)
    : new FaultHandler(handler, proxy)

class FaultHandler implements UndiciHandler {
  private readonly inner: UndiciHandler
  private readonly proxy: string
  private status = 0

  constructor(inner: UndiciHandler, proxy: string) {
    this.inner = inner
    this.proxy = proxy
  }

  onRequestStart(controller: UndiciController, context: unknown): void {
    this.inner.onRequestStart?.(controller, context)
  }

  onRequestUpgrade(
    controller: UndiciController,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.inner.onRequestUpgrade?.(controller, status, headers, socket)
  }

  onResponseStart(
    controller: UndiciController,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    this.status = status
    const fault = statusFault(status, this.proxy)
    if (fault === undefined) this.inner.onResponseStart?.(controller, status, headers, message)
    else controller.abort(fault)
  }

  onResponseData(controller: UndiciController, chunk: Buffer): void {
    this.inner.onResponseData?.(controller, chunk)
  }

  onResponseEnd(controller: UndiciController, trailers: IncomingHttpHeaders): void {
    this.inner.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: UndiciController, error: Error): void {
    if (isBodilessLengthError(this.status, error)) this.inner.onResponseEnd?.(controller, {})
    else this.inner.onResponseError?.(controller, toProxyError(error, this.proxy))
  }
}

class LegacyFaultHandler implements UndiciHandler {
  private readonly inner: UndiciHandler
  private readonly proxy: string
  private abort: (error?: Error) => void = () => {}
  private status = 0

  constructor(inner: UndiciHandler, proxy: string) {
    this.inner = inner
    this.proxy = proxy
  }

  onConnect(abort: (error?: Error) => void): void {
    this.abort = abort
    this.inner.onConnect?.(abort)
  }

  onResponseStarted(): void {
    this.inner.onResponseStarted?.()
  }

  onUpgrade(status: number, headers: Buffer[] | string[] | null, socket: Duplex): void {
    this.inner.onUpgrade?.(status, headers, socket)
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, message: string): boolean {
    this.status = status
    const fault = statusFault(status, this.proxy)
    if (fault === undefined) return this.inner.onHeaders?.(status, headers, resume, message) ?? true
    this.abort(fault)
    return false
  }

  onData(chunk: Buffer): boolean {
    return this.inner.onData?.(chunk) ?? true
  }

  onComplete(trailers: string[] | null): void {
    this.inner.onComplete?.(trailers)
  }

  onError(error: Error): void {
    if (isBodilessLengthError(this.status, error)) this.inner.onComplete?.([])
    else this.inner.onError?.(toProxyError(error, this.proxy))
  }

  onBodySent(size: number, total: number): void {
    this.inner.onBodySent?.(size, total)
  }
}
