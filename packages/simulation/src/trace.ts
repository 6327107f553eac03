/** The events of a simulation: a hash of all of them, and the lines themselves if they are wanted. */
export class Trace {
  readonly lines: string[] = []
  private hash = 0x811c9dc5
  private readonly isRecording: boolean

  constructor(isRecording: boolean) {
    this.isRecording = isRecording
  }

  /** Adds an event at a virtual time. */
  add(at: number, subject: string, text: string): void {
    this.mix(at)
    this.mixText(subject)
    this.mixText(text)
    if (this.isRecording)
      this.lines.push(`${(at / 1000).toFixed(3).padStart(9)} s  ${subject.padEnd(10)} ${text}`)
  }

  /** Identifies the trace: two simulations that differ anywhere have different hashes. */
  digest(): string {
    return (this.hash >>> 0).toString(16).padStart(8, '0')
  }

  private mix(number: number): void {
    // Whole microseconds, in two parts of 32 bits.
    const micros = Math.round(number * 1000)
    this.mixByte(micros)
    this.mixByte(Math.floor(micros / 2 ** 32))
  }

  private mixText(text: string): void {
    for (let at = 0; at < text.length; at++) this.mixByte(text.charCodeAt(at))
  }

  private mixByte(value: number): void {
    this.hash = Math.imul(this.hash ^ value, 0x01000193)
  }
}
