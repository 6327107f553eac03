/** The values of labels. */
type Attributes = Record<string, string | number | boolean>

/** A counter of OpenTelemetry. */
export interface Counter {
  /** Adds to the counter. */
  add(value: number, attributes?: Attributes): void
}

/** A histogram of OpenTelemetry. */
export interface Histogram {
  /** Records a value. */
  record(value: number, attributes?: Attributes): void
}

/** The part of a `Meter` of OpenTelemetry that is used here. */
export interface Meter {
  /** Creates a counter. */
  createCounter(name: string, options?: { description?: string; unit?: string }): Counter
  /** Creates a histogram. */
  createHistogram(name: string, options?: { description?: string; unit?: string }): Histogram
}

/** The part of a `Span` of OpenTelemetry that is used here. */
export interface Span {
  /** Sets an attribute. */
  setAttribute(name: string, value: string | number | boolean): unknown
  /** Adds an event. */
  addEvent(name: string, attributes?: Attributes): unknown
  /** Sets the status. */
  setStatus(status: { code: number }): unknown
  /** Ends the span. */
  end(): void
}

/** The part of a `Tracer` of OpenTelemetry that is used here. */
export interface Tracer {
  /** Starts a span and calls `fn` while it is the active one. */
  startActiveSpan<R>(name: string, options: { attributes?: Attributes }, fn: (span: Span) => R): R
}
