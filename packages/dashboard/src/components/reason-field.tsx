import type { Signal } from '@preact/signals'

/** The field for the reason of an action, which the audit trail shows. */
export const ReasonField = ({ reason }: { reason: Signal<string> }) => (
  <label>
    Reason, for the audit trail
    <input
      type="text"
      maxLength={1000}
      autocomplete="off"
      placeholder="optional"
      value={reason.value}
      onInput={(input) => {
        reason.value = input.currentTarget.value
      }}
    />
  </label>
)
