import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { ProxyConnectionError } from '../errors.js'
import { isWhole } from './bodiless.js'

type Handler = Dispatcher.DispatchHandler
type Controller = Dispatcher.DispatchController

/** What statuses say of the proxy, and of nothing that those who asked could use. */
const faultOf = (status: number, proxy: string): Error | undefined => {
  if (status === 407) return new ProxyConnectionError(`the proxy ${proxy} rejected the credentials`)
  if (status === 101) return new ProxyConnectionError(`the proxy ${proxy} sent an unexpected 101 response`)
  return undefined
}

/** What a parser cannot read is said in the words of a proxy that fails. */
const told = (error: Error, proxy: string): Error =>
  error.name === 'HTTPParserError'
    ? new ProxyConnectionError(`the response through the proxy ${proxy} is not HTTP`)
    : error

/**
 * Makes an error of a 407, which is about us and the proxy and nothing to those who asked, of a protocol that nobody asked for,
 * and of an answer that is none the proxy's own fault. Handlers come in two forms, since the `fetch` of a platform brings its
 * own.
 */
export const withProxyFaults = (handler: Handler, proxy: string): Handler =>
  handler.onRequestStart === undefined ? new OldHandler(handler, proxy) : new NewHandler(handler, proxy)

class NewHandler implements Handler {
  private readonly inner: Handler
  private readonly proxy: string
  private status = 0

  constructor(inner: Handler, proxy: string) {
    this.inner = inner
    this.proxy = proxy
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.inner.onRequestStart?.(controller, context)
  }

  onRequestUpgrade(
    controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    this.inner.onRequestUpgrade?.(controller, status, headers, socket)
  }

  onResponseStart(
    controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    this.status = status
    const fault = faultOf(status, this.proxy)
    if (fault === undefined) this.inner.onResponseStart?.(controller, status, headers, message)
    else controller.abort(fault)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.inner.onResponseData?.(controller, chunk)
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    this.inner.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: Controller, error: Error): void {
    if (isWhole(this.status, error)) this.inner.onResponseEnd?.(controller, {})
    else this.inner.onResponseError?.(controller, told(error, this.proxy))
  }
}

class OldHandler implements Handler {
  private readonly inner: Handler
  private readonly proxy: string
  private abort: (error?: Error) => void = () => {}
  private status = 0

  constructor(inner: Handler, proxy: string) {
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
    const fault = faultOf(status, this.proxy)
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
    if (isWhole(this.status, error)) this.inner.onComplete?.([])
    else this.inner.onError?.(told(error, this.proxy))
  }

  onBodySent(size: number, total: number): void {
    this.inner.onBodySent?.(size, total)
  }
}
