import { CopyButton, Panel } from '../../components/basics.js'

/** The policy as it is written in a config file, with the unsaved changes. */
export function YamlView({ text }: { text: string }) {
  return (
    <Panel
      title="YAML"
      actions={
        <CopyButton text={text} label="YAML">
          Copy
        </CopyButton>
      }
    >
      <p class="hint">The values of this policy in a config file, with your changes.</p>
      {/* A scrollable region must be focusable for keyboard users. */}
      <pre class="json" tabIndex={0} role="region" aria-label="YAML of the policy">
        {text}
      </pre>
    </Panel>
  )
}
