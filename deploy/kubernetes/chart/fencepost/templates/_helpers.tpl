{{- define "fencepost.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "fencepost.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "fencepost.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "fencepost.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The account of the processes that plan or show leases. */}}
{{- define "fencepost.account" -}}
{{- include "fencepost.fullname" . -}}
{{- end -}}

{{/* What selects the pods of a component; it never changes. Called with (list $ component). */}}
{{- define "fencepost.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ include "fencepost.name" $root }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "fencepost.metadata" -}}
{{- $root := index . 0 -}}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "fencepost.selector" . | nindent 2 }}
{{- end -}}

{{- define "fencepost.image" -}}
{{- $image := .Values.image -}}
{{ required "image.repository: set it to the image of your application" $image.repository }}:
{{- required "image.tag: set it to the tag of your application's image" $image.tag -}}
{{- end -}}

{{- define "fencepost.target" -}}
{{ required "target: set it to module:app, or to the path of a fencepost.toml in the image" .Values.target }}
{{- end -}}

{{/* A variable from a Secret. Called with (list NAME secret), secret with secretName and secretKey. */}}
{{- define "fencepost.fromSecret" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ (index . 1).secretName }}
      key: {{ (index . 1).secretKey }}
{{- end -}}

{{- define "fencepost.env" -}}
{{ include "fencepost.fromSecret" (list "FENCEPOST_STORE" .Values.store) }}
- name: FENCEPOST_NODE
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: FENCEPOST_GRACE_S
  value: {{ .Values.graceSeconds | quote }}
- name: FENCEPOST_LOG_LEVEL
  value: {{ .Values.logLevel }}
- name: FENCEPOST_LOG_JSON
  value: "true"
{{- range $name, $value := .Values.settings }}
- name: FENCEPOST_{{ upper $name }}
  value: {{ toString $value | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Where leases live, for the processes that plan or show them. */}}
{{- define "fencepost.leasesEnv" -}}
{{- if and .Values.leases.kubernetes .Values.leases.secretName -}}
{{- fail "leases: set kubernetes or secretName, not both" -}}
{{- end -}}
{{- if .Values.leases.kubernetes }}
- name: FENCEPOST_LEASES
  value: kubernetes://{{ .Release.Namespace }}?name={{ include "fencepost.fullname" . }}
{{- else if .Values.leases.secretName }}
{{ include "fencepost.fromSecret" (list "FENCEPOST_LEASES" .Values.leases) }}
{{- end }}
{{- end -}}

{{/* What all pods have in common. Called with a dict: root, settings (of the component), args, env, account, token
     (whether the account's token is mounted), port, probes. */}}
{{- define "fencepost.pod" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: {{ .token }}
enableServiceLinks: false
{{- with $values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .restartPolicy }}
restartPolicy: {{ . }}
{{- end }}
# Longer than the grace of jobs: a process that cannot stop in time ends itself 30 s after it.
terminationGracePeriodSeconds: {{ add $values.graceSeconds 40 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
containers:
  - name: fencepost
    image: {{ include "fencepost.image" $root }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args:
      {{- toYaml .args | nindent 6 }}
    env:
      {{- include "fencepost.env" $root | trim | nindent 6 }}
      {{- with .env | trim }}
      {{- . | nindent 6 }}
      {{- end }}
    {{- with $values.extraEnvFrom }}
    envFrom:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .port }}
    ports:
      - name: {{ .name }}
        containerPort: {{ .number }}
    {{- end }}
    {{- with .probes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .settings.resources }}
    resources:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities:
        drop: [ALL]
    volumeMounts:
      - name: tmp
        mountPath: /tmp
      {{- with $values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .settings.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .settings.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .settings.spread }}
topologySpreadConstraints:
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: {{ $.settings.spread }}
    labelSelector:
      matchLabels:
        {{- include "fencepost.selector" (list $root $.component) | nindent 8 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Schedulers and workers answer /healthz on the port of their metrics, once their store is there. */}}
{{- define "fencepost.metricsProbes" -}}
startupProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 5
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{- define "fencepost.budget" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "fencepost.fullname" $root }}-{{ $component }}
  {{- include "fencepost.metadata" (list $root $component) | nindent 2 }}
spec:
  maxUnavailable: {{ index . 2 }}
  selector:
    matchLabels:
      {{- include "fencepost.selector" (list $root $component) | nindent 6 }}
{{- end -}}
