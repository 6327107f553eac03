// The faults of the services for each mail, until they are repaired.

export type Fault = 'timeout' | 'limited' | 'unauthorized' | 'rejected' | 'down' | 'hiccup' | 'malformed'

type Place = 'gmail' | 'gemini' | 'notion'

/** The fault of each mail, by its number modulo 100. `limited` and `hiccup` happen once; the others remain. */
const FAULTS: Record<Place, Partial<Record<Fault, readonly number[]>>> = {
  gmail: { hiccup: [2, 21, 41, 61, 81], limited: [11], unauthorized: [3, 53], timeout: [7] },
  gemini: { hiccup: [13, 33, 63], limited: [35], malformed: [5, 25, 75], down: [19] },
  notion: { hiccup: [17, 37, 97], rejected: [23, 73], timeout: [29], limited: [67] },
}

/** Notion is down for the mails with these numbers modulo 100. */
const OUTAGE = { from: 84, to: 94 }

export class Faults {
  private repaired = false
  private readonly met = new Map<string, number>()

  /** Ends all faults. */
  repair(): void {
    this.repaired = true
  }

  /** The fault of a mail at a service for this request. */
  meet(place: Place, mail: string): Fault | undefined {
    if (this.repaired) return undefined
    const number = Number(mail.replace(/\D/g, '')) % 100
    if (place === 'notion' && number >= OUTAGE.from && number < OUTAGE.to) return 'down'
    const found = Object.entries(FAULTS[place]).find(([, mails]) => mails.includes(number))?.[0] as
      | Fault
      | undefined
    const times = (this.met.get(`${place} ${mail}`) ?? 0) + 1
    this.met.set(`${place} ${mail}`, times)
    return (found === 'hiccup' || found === 'limited') && times > 1 ? undefined : found
  }
}
