import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { ProxyConnectionError } from '../errors.js'
import { isBodilessLengthError } from './bodiless.js'

type UndiciHandler = Dispatcher.DispatchHandler
type UndiciController = Dispatcher.DispatchController

/** The error of a status that concerns only the proxy and is useless to the client. */
const statusFault = (status: number, proxy: string): Error | undefined => {
  if (status === 407) return new ProxyConnectionError(`the proxy ${proxy} rejected the credentials`)
  if (status === 101) return new ProxyConnectionError(`the proxy ${proxy} sent an unexpected 101 response`)
  return undefined
}

/** Converts an error of the HTTP parser to an error of the proxy. */
const toProxyError = (error: Error, proxy: string): Error =>
  error.name === 'HTTPParserError'
    ? new ProxyConnectionError(`the response through the proxy ${proxy} is not HTTP`)
    : error

/**
 * Turns responses that are faults of the proxy into errors: a 407, which concerns only the credentials for the proxy, an
 * unexpected 101, and a response that is not HTTP. undici has two interfaces of handlers, because the `fetch` of Node brings
 * its own version.
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
